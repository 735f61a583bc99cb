//! Another client that holds a lock.

use zklock_core::{Client, MutexGuard};

use super::server::TestServer;

/// Another client that holds a lock, like another process with its own session.
///
/// Dropping it releases the lock in the background.
///
/// ```
/// # zklock::testing::Harness::new().run(async |zk| {
/// let rival = zk.hold("/orders/7").await;
/// assert_eq!(zk.holder("/orders/7"), rival.client().session_id());
/// rival.release().await;
/// assert_eq!(zk.holder("/orders/7"), None);
/// # });
/// ```
#[derive(Debug)]
#[must_use = "an unused guard releases the lock at once: bind it to a name such as `_guard`, and not to `_`"]
pub struct Rival {
    server: TestServer,
    client: Client,
    guard: MutexGuard,
}

impl TestServer {
    /// Has another client take a lock, as another process would.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the rival in the background.
    ///
    /// # Panics
    ///
    /// Panics if the path cannot name a lock, or if the lock cannot be acquired within 10 s.
    pub async fn hold(&self, path: &str) -> Rival {
        let client = self.client().await;
        let mutex = client.mutex(path).unwrap_or_else(|error| panic!("{error}"));
        match mutex.lock().await {
            Ok(guard) => Rival { server: self.clone(), client, guard },
            Err(error) => panic!("a rival could not take the lock: {error}"),
        }
    }
}

impl Rival {
    /// Returns the rival's client, to expire, to disconnect, or to contend with.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the rival's guard, to compare tokens or to write with.
    pub fn guard(&self) -> &MutexGuard {
        &self.guard
    }

    /// Releases the lock. A waiter can acquire it when this returns.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the release goes on in the background.
    ///
    /// # Panics
    ///
    /// Panics if the rival no longer holds the lock, or if the server does not answer within the client's default
    /// wait.
    pub async fn release(self) {
        if let Err(error) = self.guard.release().await {
            panic!("the rival could not release the lock: {error}");
        }
    }

    /// Disappears without releasing the lock, like a process that is killed.
    ///
    /// The lock stays taken until the session times out at the server, or until
    /// [`expire`](TestServer::expire) of the rival's client ends it.
    pub fn abandon(self) {
        self.server.partition(&self.client);
    }
}
