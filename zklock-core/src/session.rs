//! Manages one ZooKeeper session, which is opened once, ends once, and never comes back.
//!
//! A session lives on its client's own thread, so heartbeats and withdrawals
//! continue while the user's runtimes are blocked, shut down or absent.
//!
//! * [`reconnect`] opens the session, and keeps it by one connection after the other and by heartbeats.
//! * [`requests`] performs the requests, and [`request_error`] classifies those that fail.
//!   [`counts`] counts them, and bounds those of contenders.
//! * [`clock`] is the lease clock: until when the session is certain to be alive.
//! * [`drive`] performs the actions of an acquisition, withdraws or downgrades its contender, and deletes nodes that servers
//!   create late. [`own_node`] has the news of a held node's watches, and detects that the node is gone.
//! * [`queues`] remembers queues, and the numbers by which a contender knows without a list that it is first.
//! * [`counter`] reads and sets a shared number.
//!
//! # Connections
//!
//! A session has one [`connection`](crate::connection) after the other, which are numbered from 1. Its answers hold for that connection alone.
//! When it is over, its watches fire, requests wait for the next one, and each contender looks again there.

pub(crate) mod clock;
pub(crate) mod counter;
pub(crate) mod counts;
pub(crate) mod drive;
pub(crate) mod own_node;
mod queues;
mod reconnect;
pub(crate) mod request_error;
pub(crate) mod requests;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_lite::future::or;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::clock::{Instant, LeaseClock};
use self::counts::Bounds;
use self::queues::Queues;
use self::requests::{Channel, Requests};
use crate::connection::Live;

use crate::change::Mutex;
use crate::tasks::{Tasks, panics};
use crate::time::timeout;

pub(crate) use self::reconnect::{Opening, Silence};

pub use self::clock::Heartbeat;

/// The health of a client's session, as far as the client can know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// The session is connected.
    Connected,
    /// The connection is broken, or is restored but has not answered a request yet. The session may
    /// still be alive.
    Suspended,
    /// No session is open: none was opened yet, or the last one ended. The client opens the next one, unless it is
    /// shut down.
    Lost,
}

/// The health of a session, and the number of its present or last connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) connection: u64,
    pub(crate) health: Health,
}

impl Link {
    /// Returns whether this connection is the present one, and is not broken.
    pub(crate) fn is_on(self, connection: u64) -> bool {
        self == Self { connection, health: Health::Connected }
    }
}

pub(crate) struct Session {
    id: i64,
    requests: Requests,
    link: watch::Sender<Link>,
    /// The number of leases that need heartbeats.
    leases: watch::Sender<usize>,
    /// Cancelled once the session has no connection and gets no other one.
    closed: CancellationToken,
    /// The paths for which a warning about a child that is not a contender was logged.
    strangers: Mutex<HashSet<String>>,
    queues: Queues,
    bounds: Bounds,
    /// The tasks of its client.
    pub(crate) tasks: Tasks,
}

impl Session {
    /// Returns a session that has a connection of this number. It has no tasks yet.
    fn new(id: i64, connection: u64, requests: Requests, tasks: Tasks) -> Arc<Self> {
        Arc::new(Self {
            id,
            requests,
            link: watch::Sender::new(Link { connection, health: Health::Connected }),
            leases: watch::Sender::new(0),
            closed: CancellationToken::new(),
            strangers: Mutex::default(),
            queues: Queues::default(),
            bounds: Bounds::default(),
            tasks,
        })
    }

    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    pub(crate) fn requests(&self) -> &Requests {
        &self.requests
    }

    pub(crate) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    pub(crate) fn clock(&self) -> &LeaseClock {
        self.requests.clock()
    }

    pub(crate) fn link(&self) -> Link {
        *self.link.borrow()
    }

    /// Tells of each change of the connection, and when the lease clock runs out.
    pub(crate) fn links(&self) -> watch::Receiver<Link> {
        self.link.subscribe()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.link().health == Health::Lost
    }

    /// Returns whether there are leases.
    pub(crate) fn is_attended(&self) -> bool {
        *self.leases.borrow() > 0
    }

    /// Waits until the session has ended.
    pub(crate) async fn over(&self) {
        self.links().wait_for(|link| link.health == Health::Lost).await.ok();
    }

    /// Ends the session. Its requests are refused from then on.
    pub(crate) fn give_up(&self) {
        self.tell_lost();
        self.requests.set_channel(Channel::Closed);
    }

    /// Closes the session after a task has panicked, because the state that the task kept cannot be relied on.
    pub(crate) async fn close_after_panic(&self) {
        self.close(CLOSE_WITHIN).await;
        tracing::error!("a task of the client panicked, so its session ends, and its locks are lost");
    }

    /// Runs a task of the session on the client's thread. A panic ends the session.
    fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let session = self.clone();
        self.tasks.spawn_untracked(async move {
            if panics(task).await {
                session.close_after_panic().await;
            }
        });
    }

    /// Closes the session.
    ///
    /// Its leases are lost first, and their guards get up to `within` to be released. The session
    /// is closed then, and the server deletes its remaining nodes; this also takes up to `within`.
    pub(crate) async fn close(&self, within: Duration) {
        tracing::info!(session = format_args!("{:#x}", self.id), "closing the session");
        self.tell(|link| link.health = Health::Lost);
        let mut leases = self.leases.subscribe();
        if timeout(within, leases.wait_for(|leases| *leases == 0)).await.is_err() {
            tracing::warn!("closing the session although guards of lost locks still exist");
        }
        self.requests.set_channel(Channel::Closed);
        // Its own task gives up by then.
        timeout(within * 2, self.closed.cancelled()).await.ok();
    }

    /// Requests heartbeats that prove leases until the returned value is dropped.
    pub(crate) fn attend(self: &Arc<Self>) -> Attendance {
        self.leases.send_modify(|leases| *leases += 1);
        Attendance(self.clone())
    }

    /// Takes note that the connection is over.
    fn disconnect(&self) {
        self.requests.set_channel(Channel::Broken);
        self.warn(|link| link.health = Health::Suspended);
    }

    /// Goes on with another connection, after an answer to a request that was sent on it at this time.
    fn connect(&self, connection: &Arc<Live>, fenced: Instant) {
        self.requests.note_fence(fenced);
        self.requests.set_channel(Channel::Open(connection.clone()));
        self.requests.tally().reconnects.add_one();
        self.warn(|link| *link = Link { connection: connection.number, health: Health::Connected });
    }

    fn tell_lost(&self) {
        self.warn(|link| link.health = Health::Lost);
    }

    /// Performs work until the session has ended.
    async fn until_over(&self, work: impl Future<Output = ()>) {
        or(self.over(), work).await;
    }

    /// Publishes a change of the connection, and logs it as a warning.
    fn warn(&self, change: impl FnOnce(&mut Link)) {
        if self.tell(change) {
            let (session, health) = (format_args!("{:#x}", self.id), self.link().health);
            tracing::warn!(session, ?health, "connection changed");
        }
    }

    /// Publishes a change of the connection. Returns `false` if the session has ended, which nothing changes.
    fn tell(&self, change: impl FnOnce(&mut Link)) -> bool {
        self.link.send_if_modified(|link| {
            let is_open = link.health != Health::Lost;
            if is_open {
                change(link);
            }
            is_open
        })
    }

    /// Logs a warning about a child that is not a contender, once per path.
    fn note_stranger(&self, path: &str, stranger: &str) {
        let mut seen = self.strangers.lock();
        let is_news = seen.len() < WARNINGS && seen.insert(path.to_owned());
        drop(seen);
        if is_news {
            tracing::warn!(path, stranger, "ignoring a child that is not a contender of this lock");
        }
    }
}

/// One lease's request for heartbeats. Dropping it ends the request.
pub(crate) struct Attendance(Arc<Session>);

impl Drop for Attendance {
    fn drop(&mut self) {
        self.0.leases.send_modify(|leases| *leases -= 1);
    }
}

/// The bound on waiting for bodies that do not end, and then for servers that do not answer.
pub(crate) const CLOSE_WITHIN: Duration = Duration::from_secs(2);
/// The maximum number of paths to warn about, which bounds the memory.
const WARNINGS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::clock::{Ack, Terms};
    use super::request_error::RequestError;
    use super::*;
    use crate::connection::security::NodeAcls;

    impl Session {
        /// Returns a session that is connected, with a lease of about a minute, and answers no request.
        pub(crate) fn staged(id: i64) -> Arc<Self> {
            let timing = (Duration::from_secs(2), Duration::from_secs(4));
            let terms =
                Terms::new(Duration::from_secs(120), timing, Heartbeat::default()).expect("valid terms");
            let clock = LeaseClock::since(Instant::now(), terms);
            clock.answered(Ack::Write, Instant::now(), &Ok::<(), RequestError>(()));
            let requests = Requests::new(Channel::Closed, clock, NodeAcls::default(), Arc::default());
            Self::new(id, 1, requests, Tasks::new())
        }
    }

    #[test]
    fn a_panic_of_a_task_ends_the_session() {
        let session = Session::staged(1);
        session.spawn(async {});
        session.spawn(async { panic!("on purpose") });
        let ended = session.clone();
        session.tasks.run_until(async move { ended.over().await });
        assert_eq!(session.link().health, Health::Lost);
    }
}
