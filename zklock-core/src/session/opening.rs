//! Opens a session, and classifies the failures to open one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use zookeeper_client as zk;

use crate::error::LockError;

use super::clock::{LeaseClock, Terms};
use super::ops::{Acl, Ops};
use super::{Health, Link, Session, connection, heartbeat};

/// The settings with which a session is opened.
#[derive(Clone)]
pub(crate) struct Opening {
    /// The servers of the connect string, without the chroot.
    pub(crate) servers: String,
    pub(crate) timeout: Duration,
    pub(crate) tick: Duration,
    pub(crate) sync_limit: Duration,
    /// The `user:password` of each digest. They are secret, so this type does not implement `Debug`.
    pub(crate) digests: Vec<String>,
    pub(crate) acl: Acl,
}

/// The reason why no session was opened.
#[derive(Clone, Debug)]
pub(crate) enum OpenError {
    /// No session could be opened now. Another attempt may succeed.
    Unreachable(String),
    /// The servers refused the credentials.
    AuthFailed,
    /// The configuration cannot work.
    Invalid(LockError),
}

impl OpenError {
    /// Returns `true` if another attempt cannot succeed.
    pub(crate) fn is_final(&self) -> bool {
        !matches!(self, Self::Unreachable(_))
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

impl Opening {
    /// Opens a session. Must run on the client's runtime, where the session stays.
    pub(crate) async fn open(&self) -> Result<Arc<Session>, OpenError> {
        let mut connector = zk::Client::connector().with_session_timeout(self.timeout).with_fail_eagerly();
        for digest in &self.digests {
            connector = connector.with_auth("digest", digest.as_bytes());
        }
        let client = connector.connect(&self.attempts()).await?;
        let terms =
            Terms::new(client.session_timeout(), self.tick, self.sync_limit).map_err(OpenError::Invalid)?;
        let session = Arc::new(Session {
            id: client.session_id().0,
            link: watch::Sender::new(Link { epoch: 0, health: Health::Connected }),
            leases: watch::Sender::new(0),
            over: CancellationToken::new(),
            closed: CancellationToken::new(),
            strangers: Mutex::default(),
            ops: Ops::new(client.clone(), LeaseClock::new(terms), self.acl),
        });
        tracing::info!(session = format_args!("{:#x}", session.id), "session opened");
        tokio::spawn(connection::follow(session.clone(), client.state_watcher()));
        tokio::spawn(heartbeat::keep(session.clone()));
        Ok(session)
    }

    /// Returns the servers in the connect string of the client library, repeated to at least 8 entries.
    ///
    /// When it reconnects, the library doubles its pause each time it has tried all entries. With a
    /// single entry, it would pause for 6 s between the seventh and the eighth attempt.
    fn attempts(&self) -> String {
        const ATTEMPTS: usize = 8;
        let count = self.servers.split(',').count();
        vec![self.servers.as_str(); ATTEMPTS.div_ceil(count)].join(",")
    }

    /// Returns the error for a caller that waited this long for a session.
    pub(crate) fn failure(&self, error: &OpenError, waited: Duration) -> LockError {
        let endpoints = self.servers.clone();
        match error {
            OpenError::Unreachable(reason) => {
                LockError::Connect { endpoints, waited, reason: reason.clone() }
            }
            OpenError::AuthFailed => LockError::AuthFailed { endpoints },
            OpenError::Invalid(error) => error.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(servers: &str, attempts: &str) {
        let opening = Opening {
            servers: servers.into(),
            timeout: Duration::ZERO,
            tick: Duration::ZERO,
            sync_limit: Duration::ZERO,
            digests: Vec::new(),
            acl: Acl::Open,
        };
        assert_eq!(opening.attempts(), attempts);
    }

    #[test]
    fn few_servers_are_tried_often() {
        check("a:1", &["a:1"; 8].join(","));
        check("a,b,c", "a,b,c,a,b,c,a,b,c");
        check("a,b,c,d,e,f,g,h,i", "a,b,c,d,e,f,g,h,i");
    }
}
