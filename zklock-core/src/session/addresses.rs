//! The servers of the connect string, and their addresses, which are looked up again and again.
//!
//! A look-up may block for long, so each has a thread of its own, and the last addresses serve meanwhile. The client library
//! is given one address at a time: of several, it would wait for the first one, and never come to the others.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt};

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
pub(super) struct Target {
    /// The address, as the library reads it.
    pub(super) address: String,
    /// The host in the connect string.
    pub(super) host: String,
}

impl Addresses {
    /// Takes the servers of a connect string.
    pub(crate) fn new(servers: &str) -> Self {
        Self::resolved_by(servers, |host, port| (host, port).to_socket_addrs().map(Iterator::collect))
    }

    pub(super) fn resolved_by(
        servers: &str,
        resolve: impl Fn(&str, u16) -> Found + Send + Sync + 'static,
    ) -> Self {
        let servers = servers.split(',').filter_map(Server::new).collect();
        Self { servers, resolve: Arc::new(resolve) }
    }

    /// Returns all addresses in random order. Waits for look-ups for a moment, and for at most `within` if none is known.
    pub(super) async fn shuffled(&self, within: Duration) -> Vec<Target> {
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
            Some(Ok(found)) if !found.is_empty() => *self.known() = found,
            found => tracing::debug!(host = self.host, ?found, "the name of a server was not found"),
        }
        look_up.under_way = None;
    }

    fn known(&self) -> MutexGuard<'_, Vec<SocketAddr>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn targets(&self) -> Vec<Target> {
        let target = |address| Target { address, host: self.host.clone() };
        match &self.look_up {
            Some(_) => self.known().iter().map(|address| target(address.to_string())).collect(),
            None => vec![target(self.entry.clone())],
        }
    }
}

/// The shortest time from one look-up of a name to the next one.
const INTERVAL: Duration = Duration::from_secs(5);
/// The wait for look-ups once an address is known.
const GRACE: Duration = Duration::from_millis(100);

/// The parts of an entry of the connect string: `host:port`, which may begin with a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address<'a> {
    pub(crate) scheme: Option<&'a str>,
    /// Without the brackets of an IPv6 address.
    pub(crate) host: &'a str,
    pub(crate) port: Option<u16>,
}

impl<'a> Address<'a> {
    /// Reads an entry. The error continues a sentence about the entry.
    pub(crate) fn parse(entry: &'a str) -> Result<Self, String> {
        let (scheme, address) = match entry.split_once("://") {
            Some((scheme, address)) => (Some(scheme), address),
            None => (None, entry),
        };
        let (host, port) = match address.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or("has no `]` behind its IPv6 address")?;
                let port = match after {
                    "" => None,
                    after => Some(after.strip_prefix(':').ok_or("has no `:` behind its `]`")?),
                };
                (ipv6(host)?, port)
            }
            None => match address.rsplit_once(':') {
                Some((host, port)) => (name(host)?, Some(port)),
                None => (name(address)?, None),
            },
        };
        Ok(Self { scheme, host, port: port.map(number).transpose()? })
    }

    /// Returns the host and the port, which is ZooKeeper's own if the entry has none.
    pub(crate) fn authority(&self) -> String {
        let (host, port) = self.endpoint();
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Returns the same in two parts, without brackets.
    pub(crate) fn endpoint(&self) -> (&'a str, u16) {
        (self.host, self.port.unwrap_or(2181))
    }
}

fn ipv6(host: &str) -> Result<&str, String> {
    // The interface of a link-local address.
    let (address, interface) = host.split_once('%').unwrap_or((host, "0"));
    let is_valid = address.parse::<Ipv6Addr>().is_ok() && interface.chars().all(is_named);
    if is_valid && !interface.is_empty() {
        Ok(host)
    } else {
        Err("has no valid IPv6 address in its brackets".into())
    }
}

/// Checks a host without brackets: a name, or an IPv4 address.
fn name(host: &str) -> Result<&str, String> {
    if host.is_empty() {
        return Err("has no host".into());
    }
    if let Some(c) = host.chars().find(|c| !is_named(*c) && *c != ':') {
        return Err(format!("has the character {c:?}, which no host has; commas separate servers"));
    }
    if host.contains(':') {
        return Err("needs brackets around its IPv6 address, as in `[::1]:2181`".into());
    }
    // The system reads a mere number as an IPv4 address, too.
    let end = host.trim_end_matches('.').rsplit('.').next();
    let is_number = end.is_some_and(|end| end.chars().all(|c| c.is_ascii_digit()));
    if is_number && host.parse::<Ipv4Addr>().is_err() {
        return Err("has a host that is neither a name nor an IPv4 address".into());
    }
    Ok(host)
}

fn number(port: &str) -> Result<u16, String> {
    let is_number = port.chars().all(|c| c.is_ascii_digit());
    port.parse().ok().filter(|port| is_number && *port > 0).ok_or_else(|| "has no valid port".into())
}

/// Returns whether the names of hosts and interfaces have this character.
fn is_named(c: char) -> bool {
    c.is_alphanumeric() || "-_.".contains(c)
}

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
                waits.lock().unwrap().recv().ok();
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
            let was_known = std::mem::replace(&mut *is_known.lock().unwrap(), false);
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
        let addresses = Addresses::resolved_by("a:1", move |_, _| {
            Ok(answers.lock().unwrap().recv().into_iter().collect())
        });
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
            waits.lock().unwrap().recv().ok();
            Ok(Vec::new())
        });
        assert_eq!(addresses.shuffled(Duration::from_millis(20)).await, []);
    }

    #[test]
    fn an_address_has_a_host_and_may_have_a_scheme_and_a_port() {
        for (entry, scheme, host, port, authority) in [
            ("zk1", None, "zk1", None, "zk1:2181"),
            ("zk_1.example.org.:1", None, "zk_1.example.org.", Some(1), "zk_1.example.org.:1"),
            ("tcp+tls://127.0.0.1:65535", Some("tcp+tls"), "127.0.0.1", Some(65535), "127.0.0.1:65535"),
            ("tcp://[::1]:2182", Some("tcp"), "::1", Some(2182), "[::1]:2182"),
            ("[2001:db8::1]", None, "2001:db8::1", None, "[2001:db8::1]:2181"),
            ("[fe80::1%eth0]:1", None, "fe80::1%eth0", Some(1), "[fe80::1%eth0]:1"),
        ] {
            let address = Address::parse(entry).unwrap();
            assert_eq!(address, Address { scheme, host, port }, "{entry}");
            assert_eq!(address.authority(), authority);
        }
    }

    #[test]
    fn an_entry_that_is_no_address_is_refused() {
        let ipv6 = "has no valid IPv6 address in its brackets";
        let brackets = "needs brackets around its IPv6 address, as in `[::1]:2181`";
        let number = "has a host that is neither a name nor an IPv4 address";
        for (entry, reason) in [
            ("", "has no host"),
            (":2181", "has no host"),
            ("tcp://", "has no host"),
            ("[::1", "has no `]` behind its IPv6 address"),
            ("[::1]x:2181", "has no `:` behind its `]`"),
            ("[::1]2181", "has no `:` behind its `]`"),
            ("[]:2181", ipv6),
            ("[zk1]:2181", ipv6),
            ("[127.0.0.1]:2181", ipv6),
            ("[fe80::1%]:2181", ipv6),
            ("::1", brackets),
            ("2001:db8::1", brackets),
            ("a:1:2", brackets),
            ("a:1;b:2", "has the character ';', which no host has; commas separate servers"),
            ("a b:1", "has the character ' ', which no host has; commas separate servers"),
            ("user@a:1", "has the character '@', which no host has; commas separate servers"),
            ("\"a:1\"", "has the character '\"', which no host has; commas separate servers"),
            ("2181", number),
            ("127.0.0.1.2181", number),
            ("256.0.0.1:2181", number),
            ("a:", "has no valid port"),
            ("a:port", "has no valid port"),
            ("a:0", "has no valid port"),
            ("a:+1", "has no valid port"),
            ("a:70000", "has no valid port"),
            ("[::1]:", "has no valid port"),
        ] {
            assert_eq!(Address::parse(entry), Err(reason.to_owned()), "{entry:?}");
        }
    }
}
