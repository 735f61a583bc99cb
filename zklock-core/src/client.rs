//! The client: a handle on the locks and elections of one ensemble.

pub(crate) mod config;
mod connect_string;
pub(crate) mod settings;
pub(crate) mod worker;

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::error::LockError;
use crate::events::Events;
use crate::path::NodePath;
use crate::session::Health;

use self::worker::Worker;

#[cfg(test)]
pub(crate) use self::tests::{connect, connected, proxied, proxy, soon};

/// A handle on the locks and elections of one ensemble, cheap to clone.
///
/// It owns one ZooKeeper session at a time, on a thread of its own. When a session ends, the locks held in it
/// are lost; the client automatically opens the next session, in which locks can be taken again.
///
/// When the last of the clones, locks, guards, elections and candidates is dropped, the session is closed in the
/// background. A process that exits before that leaves its locks to expire with the session. Call
/// [`shutdown`](Self::shutdown) to leave nothing behind.
///
/// A child of `fork` has neither the thread nor the locks of its parent. In the child, calls fail with
/// [`LockError::Forked`], guards are not held, [`readiness`](Self::readiness) is [`Readiness::Closing`], and there are no
/// [`events`](Self::events). Dropping guards there releases nothing.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), zklock_core::LockError> {
/// let client = zklock_core::Config::new("127.0.0.1:2181").namespace("/billing").connect().await?;
/// let guard = client.mutex("/orders/7")?.lock().await?;
/// // … only one holder in the fleet gets here at a time …
/// guard.release().await?;
/// client.shutdown(std::time::Duration::from_secs(5)).await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    owner: Arc<Owner>,
}

/// The owner of the worker, which it stops when the last handle is dropped.
struct Owner {
    worker: Arc<Worker>,
    candidates: Slot,
    local_queues: Slot,
}

/// One value of a type of a higher layer, which the client does not know. It is dropped with the client.
#[derive(Default)]
pub(crate) struct Slot(OnceLock<Box<dyn Any + Send + Sync>>);

impl Slot {
    /// Returns the value, which the first call creates.
    ///
    /// # Panics
    ///
    /// Panics if an earlier call asked for another type: a slot has one user.
    pub(crate) fn get_or_default<T: Any + Default + Send + Sync>(&self) -> &T {
        let value = self.0.get_or_init(|| Box::new(T::default()));
        value.downcast_ref().expect("a slot is used with one type only")
    }
}

impl Client {
    pub(crate) fn new(worker: Arc<Worker>) -> Self {
        let (candidates, local_queues) = Default::default();
        Self { owner: Arc::new(Owner { worker, candidates, local_queues }) }
    }

    /// Returns the events of this client's locks and candidates from now on.
    pub fn events(&self) -> Events {
        self.worker().listen()
    }

    /// Returns the current health of the client's session.
    pub fn health(&self) -> Health {
        self.worker().health()
    }

    /// Returns whether this client can take locks and lead now, from memory.
    pub fn readiness(&self) -> Readiness {
        match self.health() {
            _ if self.worker().is_closing() => Readiness::Closing,
            Health::Connected => Readiness::Ready,
            Health::Suspended => Readiness::Suspended,
            Health::Lost => Readiness::Disconnected { reason: self.worker().failure() },
        }
    }

    /// Returns the id of the current session, as the servers know it; `None` while no session is open.
    pub fn session_id(&self) -> Option<i64> {
        self.worker().current_session().map(|session| session.id())
    }

    /// Returns the name under which other participants see this client's contenders.
    pub fn identity(&self) -> &str {
        &self.worker().settings.identity
    }

    /// Returns the longest wait of acquisitions that do not set their own.
    pub fn default_wait(&self) -> Duration {
        self.worker().default_wait()
    }

    /// Refuses new acquisitions, waits up to `grace` for guards to be released and for the bodies of leaders to end, and
    /// closes the session.
    ///
    /// A leader without a running body resigns at once; any other one resigns when its last body has ended. Locks and
    /// terms that are left after `grace` are lost. When this returns, nothing of this client is left on the
    /// servers, unless they could not be reached; in that case the rest disappears with the session's
    /// timeout. All clones of the client are shut down. This returns at the latest a few seconds after
    /// `grace`.
    ///
    /// # Cancel safety
    ///
    /// The shutdown goes on in the background.
    pub async fn shutdown(&self, grace: Duration) {
        self.worker().shutdown(grace).await;
    }

    pub(crate) fn path(&self, path: impl AsRef<str>) -> Result<NodePath, LockError> {
        NodePath::new(self.worker().root(), path.as_ref())
    }

    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.owner.worker
    }

    /// Returns the slot for the candidates that belong to the client, and end with it.
    pub(crate) fn candidates(&self) -> &Slot {
        &self.owner.candidates
    }

    /// Returns the slot for the local queues.
    pub(crate) fn local_queues(&self) -> &Slot {
        &self.owner.local_queues
    }

    /// Returns whether both handles belong to the same client.
    #[doc(hidden)]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.owner, &other.owner)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("servers", &self.worker().settings.opening.servers)
            .field("root", &self.worker().root())
            .field("health", &self.health())
            .finish_non_exhaustive()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.worker.stop();
    }
}

/// The readiness of a client to take locks and lead at this instant, as far as it knows.
///
/// It is about the session. A candidate that the servers refuse says so by [`Leader::failure`](crate::Leader::failure).
///
/// The values are ordered from the best to the worst, so that the greatest over several clients is the
/// readiness of all of them together.
///
/// # Examples
///
/// ```
/// use zklock_core::Readiness;
///
/// assert!(Readiness::Ready < Readiness::Suspended);
/// assert_eq!(Readiness::Suspended.to_string(), "the connection to the servers is broken");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Readiness {
    /// The session is open and connected.
    Ready,
    /// The session is disconnected, or has reconnected without an answer yet; it may still be alive.
    Suspended,
    /// No session is open; the client keeps trying to open the next one.
    #[non_exhaustive]
    Disconnected {
        /// The last failure to open one since the last session, with the reason of each server, if there was one.
        reason: Option<String>,
    },
    /// The shutdown of the client has begun or is over; it takes no more locks.
    Closing,
    /// There is no client to ask; [`Client::readiness`](crate::Client::readiness) never returns this value.
    NotInstalled,
}

impl Readiness {
    /// Returns whether the client can take locks and lead.
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready => "ready",
            Self::Suspended => "the connection to the servers is broken",
            Self::Disconnected { reason: None } => "there is no session with the servers",
            Self::Disconnected { reason: Some(reason) } => {
                return write!(f, "there is no session with the servers: {reason}");
            }
            Self::Closing => "the client is shut down",
            Self::NotInstalled => "no client is installed",
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;
    use zklock_testkit::{EmbeddedServer, Proxy};

    use super::config::Config;
    use super::*;

    /// Starts a server, and returns it with a client that is connected to it.
    pub(crate) async fn connected() -> (EmbeddedServer, Client) {
        let server = EmbeddedServer::start().unwrap();
        let client = connect(&server).await;
        (server, client)
    }

    /// Returns one more client of a server.
    pub(crate) async fn connect(server: &EmbeddedServer) -> Client {
        Config::new(server.connect_string()).connect().await.unwrap()
    }

    /// Starts a server, and a proxy in front of it.
    pub(crate) fn proxy() -> (EmbeddedServer, Proxy) {
        let server = EmbeddedServer::start().unwrap();
        let proxy = Proxy::start(server.address()).unwrap();
        (server, proxy)
    }

    /// Starts a server and a proxy, and returns them with a client that is connected through the proxy.
    pub(crate) async fn proxied() -> (EmbeddedServer, Proxy, Client) {
        let (server, proxy) = proxy();
        let client = Config::new(proxy.connect_string()).connect().await.unwrap();
        (server, proxy, client)
    }

    /// Waits for what happens at once, unless the machine is busy.
    pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
        timeout(Duration::from_secs(20), future).await.expect("it happens within 20 s")
    }

    #[test]
    fn the_worst_of_several_clients_is_the_greatest() {
        let from_best_to_worst = [
            Readiness::Ready,
            Readiness::Suspended,
            Readiness::Disconnected { reason: None },
            Readiness::Disconnected { reason: Some("refused".into()) },
            Readiness::Closing,
            Readiness::NotInstalled,
        ];
        assert!(from_best_to_worst.is_sorted());
        for pair in from_best_to_worst.windows(2) {
            assert_eq!(pair.iter().max(), Some(&pair[1]));
        }
    }
}
