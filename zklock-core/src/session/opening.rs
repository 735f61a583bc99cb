//! The settings with which sessions are opened, and the reasons why none is.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use crate::error::LockError;
use crate::time::sleep;

use super::acl::NodeAcls;
use super::addresses::Addresses;
use super::clock::{Heartbeat, Terms};
use super::connection::OpenError;
use super::counts::Tally;
use super::diagnose::Diagnosis;
use super::security::Security;

/// The settings with which a session is opened.
#[derive(Clone)]
pub(crate) struct Opening {
    /// The servers of the connect string, without the chroot.
    pub(crate) servers: String,
    pub(crate) addresses: Addresses,
    pub(crate) timeout: Duration,
    /// How long a server may be silent, for each length of a session.
    pub(crate) silence: Silence,
    pub(crate) tick: Duration,
    pub(crate) sync_limit: Duration,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) security: Security,
    pub(crate) acls: NodeAcls,
    pub(crate) tally: Arc<Tally>,
    /// How long to look for the reason why a server opens no session.
    pub(crate) look_within: Duration,
    pub(crate) diagnosis: Diagnosis,
}

/// How long a server may be silent before the client turns to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    Fixed(Duration),
    /// A twelfth of the session timeout, such that several attempts fit into this time to connect.
    ForConnecting(Duration),
}

impl Silence {
    /// Returns how long a server may be silent in a session with this timeout.
    ///
    /// The twelfth is short enough for a lease that was proved right before a server fell silent to be proved
    /// on another one, after attempts at other silent servers: see the tests of `reconnect`.
    pub(crate) fn of(self, session: Duration) -> Duration {
        match self {
            // The servers may have granted a shorter session than the one that the setting was made for.
            Self::Fixed(silence) => silence.min(session * 2 / 5),
            Self::ForConnecting(within) => {
                // Shorter stalls of busy machines must not break connections.
                let shortest = Duration::from_millis(500).min(session * 2 / 5);
                (session / 12).min(within / 4).max(shortest)
            }
        }
    }
}

impl Opening {
    /// Logs a warning if the servers granted another session timeout than the one that was asked for.
    pub(super) fn compare(&self, granted: Duration) {
        if granted.as_millis() != self.timeout.as_millis() {
            tracing::warn!(
                asked = ?self.timeout,
                ?granted,
                "the servers grant another session timeout: ask for this one, or change their limits"
            );
        }
    }

    /// Looks at each server once, if no session has been opened for some time. Never returns otherwise.
    ///
    /// The library may try servers that do not answer for longer than callers wait.
    pub(crate) async fn reason_of_delay(&self) -> OpenError {
        sleep(self.look_within).await;
        match self.diagnosed().await {
            Some(reason) => reason,
            None => pending().await,
        }
    }

    pub(super) async fn diagnosed(&self) -> Option<OpenError> {
        self.diagnosis.of(&self.servers, self.security.certificates(), self.look_within).await
    }

    pub(super) fn terms(&self, timeout: Duration) -> Result<Terms, LockError> {
        Terms::new(timeout, (self.tick, self.sync_limit), self.heartbeat)
    }

    /// Returns the error for a caller that waited this long for a session.
    pub(crate) fn failure(&self, error: &OpenError, waited: Duration) -> LockError {
        let endpoints = self.servers.clone();
        match error {
            OpenError::Unreachable(reason) => {
                LockError::Connect { endpoints, waited, reason: reason.clone() }
            }
            OpenError::AuthFailed => LockError::AuthFailed { endpoints },
            #[cfg(feature = "tls")]
            OpenError::Untrusted(reason) => LockError::Tls { endpoints, reason: reason.clone() },
            OpenError::Expired => LockError::Connect { endpoints, waited, reason: error.to_string() },
            OpenError::Invalid(error) => error.clone(),
        }
    }
}
