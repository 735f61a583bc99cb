//! The servers of the connect string, and their addresses, which are looked up again and again.
//!
//! A look-up may block for long, so each has a thread of its own, and the last addresses serve meanwhile. The client library
//! is given one address at a time: of several, it would wait for the first one, and never come to the others.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::address::Address;
use crate::change::Mutex;
use crate::tasks::apart;
use crate::time::timeout;

/// Looks up the addresses of a name.
type Resolve = dyn Fn(&str, u16) -> Found + Send + Sync;

/// The servers of a client, and their addresses.
#[derive(Clone)]
pub(crate) struct Addresses {
    servers: Arc<[Server]>,
    resolve: Arc<Resolve>,
}

/// One entry of the connect string.
struct Server {
    entry: String,
    host: String,
    port: u16,
    /// `None` if the library is given the entry as it is: that of an address, or of an encrypted connection, whose
    /// certificate has the name.
    look_up: Option<tokio::sync::Mutex<LookUp>>,
    known: Mutex<Vec<SocketAddr>>,
}

/// The look-ups of a name.
#[derive(Default)]
struct LookUp {
    /// The time of the last one.
    asked: Option<Instant>,
    under_way: Option<Pin<Box<dyn Future<Output = Option<Found>> + Send>>>,
}

type Found = io::Result<Vec<SocketAddr>>;

/// One address to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The address, as the library reads it.
    pub(crate) address: String,
    /// The host in the connect string.
    pub(crate) host: String,
}

impl Addresses {
    /// Takes the servers of a connect string.
    pub(crate) fn new(servers: &str) -> Self {
        Self::resolved_by(servers, |host, port| (host, port).to_socket_addrs().map(Iterator::collect))
    }

    pub(crate) fn resolved_by(
        servers: &str,
        resolve: impl Fn(&str, u16) -> Found + Send + Sync + 'static,
    ) -> Self {
        let servers = servers.split(',').filter_map(Server::new).collect();
        Self { servers, resolve: Arc::new(resolve) }
    }

    /// Returns all addresses in random order. Waits for look-ups for a moment, and for at most `within` if none is known.
    pub(crate) async fn shuffled(&self, within: Duration) -> Vec<Target> {
        let servers = self.servers.iter();
        let mut looks: FuturesUnordered<_> = servers.map(|server| server.look_up(&self.resolve)).collect();
        let first = async { while !self.are_known() && looks.next().await.is_some() {} };
        timeout(within, first).await.ok();
        // Servers may have moved, and most look-ups take no longer than an attempt at one that is not there any more.
        timeout(GRACE, looks.collect::<()>()).await.ok();
        let mut targets: Vec<_> = self.servers.iter().flat_map(Server::targets).collect();
        fastrand::shuffle(&mut targets);
        targets
    }

    fn are_known(&self) -> bool {
        self.servers.iter().any(|server| !server.targets().is_empty())
    }
}

impl Server {
    fn new(entry: &str) -> Option<Self> {
        let address = Address::parse(entry).ok()?;
        let (host, port) = address.endpoint();
        let is_given = host.parse::<IpAddr>().is_ok() || address.scheme == Some("tcp+tls");
        let (look_up, known) = ((!is_given).then(Default::default), Mutex::default());
        Some(Self { entry: entry.to_owned(), host: host.to_owned(), port, look_up, known })
    }

    /// Looks up the addresses, if that is due, after a look-up that an earlier call has given up.
    async fn look_up(&self, resolve: &Arc<Resolve>) {
        let Some(look_up) = &self.look_up else { return };
        let mut look_up = look_up.lock().await;
        self.finish(&mut look_up).await;
        if look_up.asked.is_none_or(|asked| asked.elapsed() >= INTERVAL) {
            look_up.asked = Some(Instant::now());
            let (resolve, host, port) = (resolve.clone(), self.host.clone(), self.port);
            look_up.under_way = Some(Box::pin(apart(move || resolve(&host, port))));
            self.finish(&mut look_up).await;
        }
    }

    async fn finish(&self, look_up: &mut LookUp) {
        let Some(under_way) = &mut look_up.under_way else { return };
        match under_way.await {
            Some(Ok(found)) if !found.is_empty() => *self.known.lock() = found,
            found => tracing::debug!(host = self.host, ?found, "the name of a server was not found"),
        }
        look_up.under_way = None;
    }

    fn targets(&self) -> Vec<Target> {
        let target = |address| Target { address, host: self.host.clone() };
        match &self.look_up {
            Some(_) => self.known.lock().iter().map(|address| target(address.to_string())).collect(),
            None => vec![target(self.entry.clone())],
        }
    }
}

/// The shortest time from one look-up of a name to the next one.
const INTERVAL: Duration = Duration::from_secs(5);
/// The wait for look-ups once an address is known.
const GRACE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::mpsc::channel;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn address(number: u8) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, number], 1))
    }

    async fn known(addresses: &Addresses) -> BTreeSet<String> {
        addresses.shuffled(LONG).await.into_iter().map(|target| target.address).collect()
    }

    async fn make_due(addresses: &Addresses) {
        addresses.servers[0].look_up.as_ref().unwrap().lock().await.asked = None;
    }

    #[tokio::test]
    async fn all_addresses_of_all_names_are_known() {
        let addresses = Addresses::resolved_by("a:1,b:1,[::1]:2,tcp+tls://c:3", |host, _| match host {
            "a" => Ok(vec![address(1), address(2)]),
            "b" => Ok(vec![address(3)]),
            other => Err(io::Error::other(other.to_owned())),
        });
        let expected = ["127.0.0.1:1", "127.0.0.2:1", "127.0.0.3:1", "[::1]:2", "tcp+tls://c:3"];
        assert_eq!(known(&addresses).await, expected.map(String::from).into());
        let hosts: BTreeSet<_> =
            addresses.shuffled(LONG).await.into_iter().map(|target| target.host).collect();
        assert_eq!(hosts, ["a", "b", "::1", "c"].map(String::from).into());
    }

    #[tokio::test]
    async fn a_name_that_hangs_keeps_no_other_one_waiting() {
        let (go_on, waits) = channel::<()>();
        let waits = Mutex::new(waits);
        let addresses = Addresses::resolved_by("a:1,b:1", move |host, _| {
            if host == "a" {
                waits.lock().recv().ok();
            }
            Ok(vec![address(1)])
        });
        let begun = Instant::now();
        assert_eq!(known(&addresses).await, ["127.0.0.1:1".to_owned()].into());
        assert!(begun.elapsed() < LONG / 2);
        drop(go_on);
    }

    #[tokio::test]
    async fn the_last_addresses_serve_while_a_name_is_not_found() {
        let is_known = Mutex::new(true);
        let addresses = Addresses::resolved_by("a:1", move |_, _| {
            let was_known = std::mem::replace(&mut *is_known.lock(), false);
            if was_known { Ok(vec![address(1)]) } else { Err(io::Error::other("expected by the test")) }
        });
        assert_eq!(known(&addresses).await.len(), 1);
        // The next look-up is due.
        make_due(&addresses).await;
        assert_eq!(known(&addresses).await.len(), 1);
        assert!(addresses.servers[0].look_up.as_ref().unwrap().lock().await.under_way.is_none());
    }

    #[tokio::test]
    async fn a_look_up_that_is_due_is_waited_for_a_moment_although_an_address_is_known() {
        let (answer, answers) = channel();
        let answers = Mutex::new(answers);
        let addresses =
            Addresses::resolved_by("a:1", move |_, _| Ok(answers.lock().recv().into_iter().collect()));
        for (number, expected) in [(1, "127.0.0.1:1"), (2, "127.0.0.2:1")] {
            make_due(&addresses).await;
            answer.send(address(number)).unwrap();
            assert_eq!(known(&addresses).await, [expected.to_owned()].into());
        }
        // One that hangs keeps nobody waiting.
        make_due(&addresses).await;
        let begun = Instant::now();
        assert_eq!(known(&addresses).await, ["127.0.0.2:1".to_owned()].into());
        assert!(begun.elapsed() < LONG / 2);
    }

    #[tokio::test]
    async fn without_any_address_a_look_up_is_waited_for_as_long_as_told() {
        let (_go_on, waits) = channel::<()>();
        let waits = Mutex::new(waits);
        let addresses = Addresses::resolved_by("a:1", move |_, _| {
            waits.lock().recv().ok();
            Ok(Vec::new())
        });
        assert_eq!(addresses.shuffled(Duration::from_millis(20)).await, []);
    }
}
