//! One ZooKeeper session: it is opened once, ends once, and never comes back.
//!
//! It lives on the runtime of its client's own thread, so heartbeats and withdrawals go on while the
//! runtimes of the user are blocked, shut down or absent.
//!
//! * [`ops`]: the requests.
//! * [`clock`]: until when the session surely lives, by what was answered.
//! * [`drive`]: performs an acquisition's actions, [`janitor`] its withdrawal, and
//!   [`presence`] notices that its node is gone.
//!
//! # Epochs
//!
//! The library publishes the latest state only, so a short disconnection may be seen as one change from
//! connected to connected. Every change that is seen therefore starts a new *epoch*, and what was
//! believed in the one before is verified in the next.

pub(crate) mod clock;
pub(crate) mod drive;
pub(crate) mod fault;
mod heartbeat;
mod janitor;
pub(crate) mod ops;
mod presence;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use zookeeper_client as zk;

use crate::error::LockError;

use self::clock::{LeaseClock, Terms};
use self::ops::{Acl, Ops};

/// What may be believed of a client's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// It is connected.
    Connected,
    /// It is disconnected, and may live on.
    Suspended,
    /// It ended; the client opens the next one.
    Lost,
}

/// How to open a session.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    /// Servers, without chroot.
    pub(crate) servers: String,
    pub(crate) timeout: Duration,
    pub(crate) tick: Duration,
    pub(crate) sync_limit: Duration,
    /// `user:password` of each digest.
    pub(crate) digests: Vec<String>,
    pub(crate) acl: Acl,
}

/// Why no session was opened.
#[derive(Clone, Debug)]
pub(crate) enum OpenError {
    /// Trying again may help.
    Unreachable(String),
    /// The credentials are refused.
    AuthFailed,
    /// The configuration cannot work.
    Invalid(LockError),
}

impl OpenError {
    /// Tells whether trying again is pointless.
    pub(crate) fn is_final(&self) -> bool {
        !matches!(self, Self::Unreachable(_))
    }
}

pub(crate) struct Session {
    id: i64,
    ops: Ops,
    link: watch::Sender<Link>,
    /// How many leases want heartbeats.
    leases: watch::Sender<usize>,
    over: CancellationToken,
    /// Paths where children were seen that are not of this recipe.
    strangers: Mutex<HashSet<String>>,
}

/// The connection's state, and how often it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) epoch: u64,
    pub(crate) health: Health,
}

impl Session {
    /// Opens a session; must run on the client's runtime, where the session stays.
    pub(crate) async fn open(opening: &Opening) -> Result<Arc<Self>, OpenError> {
        let mut connector = zk::Client::connector().with_session_timeout(opening.timeout).with_fail_eagerly();
        for digest in &opening.digests {
            connector = connector.with_auth("digest", digest.as_bytes());
        }
        let client = connector.connect(&repeated(&opening.servers)).await?;
        let terms = Terms::new(client.session_timeout(), opening.tick, opening.sync_limit)
            .map_err(OpenError::Invalid)?;
        let session = Arc::new(Self {
            id: client.session_id().0,
            link: watch::Sender::new(Link { epoch: 0, health: Health::Connected }),
            leases: watch::Sender::new(0),
            over: CancellationToken::new(),
            strangers: Mutex::default(),
            ops: Ops::new(client.clone(), LeaseClock::new(terms), opening.acl),
        });
        tracing::info!(session = format_args!("{:#x}", session.id), "session opened");
        tokio::spawn(follow(client.state_watcher(), session.link.clone(), session.over.clone()));
        tokio::spawn(heartbeat::keep(session.clone()));
        Ok(session)
    }

    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    pub(crate) fn ops(&self) -> &Ops {
        &self.ops
    }

    pub(crate) fn clock(&self) -> &LeaseClock {
        self.ops.clock()
    }

    pub(crate) fn link(&self) -> Link {
        *self.link.borrow()
    }

    pub(crate) fn links(&self) -> watch::Receiver<Link> {
        self.link.subscribe()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Waits until the session ended.
    pub(crate) async fn over(&self) {
        self.over.cancelled().await;
    }

    /// Takes the session for ended, where a server shows that it is although nobody said so.
    pub(crate) fn give_up(&self) {
        self.link.send_modify(|link| link.health = Health::Lost);
        self.over.cancel();
        self.ops.close();
    }

    /// Closes the session and waits until the server confirmed it.
    ///
    /// Its nodes are gone then. Waits as long as it must; the caller bounds it.
    pub(crate) async fn close(&self) {
        self.ops.close();
        self.over().await;
    }

    /// Warns of a child that is no contender, once per path.
    fn note_stranger(&self, path: &str, stranger: &str) {
        let mut seen = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < WARNINGS && !seen.contains(path) {
            seen.insert(path.to_owned());
            tracing::warn!(path, stranger, "ignoring a child that is no contender of this lock");
        }
    }

    /// Wants heartbeats until the returned value is dropped.
    pub(crate) fn attend(self: &Arc<Self>) -> Attendance {
        self.leases.send_modify(|leases| *leases += 1);
        Attendance(self.clone())
    }
}

/// One lease's wish for heartbeats.
pub(crate) struct Attendance(Arc<Session>);

impl Drop for Attendance {
    fn drop(&mut self) {
        self.0.leases.send_modify(|leases| *leases -= 1);
    }
}

impl From<zk::Error> for OpenError {
    fn from(error: zk::Error) -> Self {
        match error {
            zk::Error::AuthFailed => Self::AuthFailed,
            zk::Error::BadArguments(reason) => {
                Self::Invalid(LockError::InvalidConfig { setting: "connect", reason: (*reason).to_owned() })
            }
            zk::Error::NoHosts => Self::Unreachable("no server accepted the connection".into()),
            zk::Error::Timeout => Self::Unreachable("no server answered".into()),
            other => Self::Unreachable(other.to_string()),
        }
    }
}

/// Publishes the state of the connection until the session ended.
async fn follow(mut states: zk::StateWatcher, link: watch::Sender<Link>, over: CancellationToken) {
    let mut state = states.state();
    while !state.is_terminated() {
        let health = match state {
            zk::SessionState::SyncConnected => Health::Connected,
            _ => Health::Suspended,
        };
        let seen = link.borrow().health;
        if seen != health {
            tracing::warn!(?health, "connection changed");
            link.send_modify(|link| link.health = health);
        }
        state = states.changed().await;
        link.send_modify(|link| link.epoch += 1);
    }
    tracing::info!(%state, "session ended");
    link.send_modify(|link| link.health = Health::Lost);
    over.cancel();
}

/// Repeats the servers, because the library tries them with pauses that grow from round to round: with a
/// single server it would wait 6 s between its seventh and eighth attempt.
fn repeated(servers: &str) -> String {
    const ATTEMPTS: usize = 8;
    let count = servers.split(',').count();
    vec![servers; ATTEMPTS.div_ceil(count)].join(",")
}

/// How many paths are warned of; memory stays bounded.
const WARNINGS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_servers_are_tried_often() {
        assert_eq!(repeated("a:1"), ["a:1"; 8].join(","));
        assert_eq!(repeated("a,b,c"), "a,b,c,a,b,c,a,b,c");
        assert_eq!(repeated("a,b,c,d,e,f,g,h,i"), "a,b,c,d,e,f,g,h,i");
    }
}
