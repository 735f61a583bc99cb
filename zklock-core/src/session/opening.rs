//! Opens a session.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use zookeeper_client as zk;

use crate::error::LockError;

use super::acl::NodeAcls;
use super::attempts;
use super::bounds::Bounds;
use super::clock::{Heartbeat, LeaseClock, Terms};
use super::diagnose::Diagnosis;
use super::failure::OpenError;
use super::link::Links;
#[cfg(any(feature = "sasl-digest", feature = "sasl-gssapi"))]
use super::login;
use super::ops::Ops;
use super::queues::Queues;
use super::roll::RollCall;
use super::security::Security;
#[cfg(any(feature = "sasl-digest", feature = "sasl-gssapi"))]
use super::standing::Standing;
use super::tally::Tally;
#[cfg(feature = "tls")]
use super::tls;
use super::uptime::Origin;
use super::ward::Ward;
use super::warden;
use super::{Session, connection, heartbeat};

/// The settings with which a session is opened.
#[derive(Clone)]
pub(crate) struct Opening {
    /// The servers of the connect string, without the chroot.
    pub(crate) servers: String,
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
    /// on another one, after attempts at other silent servers: see ARCHITECTURE.md.
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
    /// Opens a session. Must run on the client's runtime, where the session's tasks stay.
    pub(crate) async fn open(&self) -> Result<Arc<Session>, OpenError> {
        let mut origin = Origin::now();
        let mut client = self.connect(self.timeout).await?;
        if self.silence.of(client.session_timeout()) < self.silence.of(self.timeout) {
            // The servers granted less, so that a silent one has to be given up earlier.
            origin = Origin::now();
            client = self.connect(client.session_timeout()).await?;
        }
        self.compare(client.session_timeout());
        #[cfg(any(feature = "sasl-digest", feature = "sasl-gssapi"))]
        let standing = self.security.check_login(&client).await?;
        let terms = self.terms(client.session_timeout()).map_err(OpenError::Invalid)?;
        let session = Arc::new(Session {
            id: client.session_id().0,
            link: Links::connected(),
            leases: watch::Sender::new(0),
            over: CancellationToken::new(),
            closed: CancellationToken::new(),
            strangers: Mutex::default(),
            roll: RollCall::new(client.session_id().0),
            queues: Queues::default(),
            bounds: Bounds::default(),
            ward: Ward::default(),
            ops: Ops::new(
                client.clone(),
                LeaseClock::since(origin, terms),
                self.acls.clone(),
                self.tally.clone(),
            ),
        });
        self.tally.note_session();
        tracing::info!(session = format_args!("{:#x}", session.id), "session opened");
        session.spawn(connection::follow(session.clone(), client.state_watcher()));
        session.spawn(heartbeat::keep(session.clone()));
        session.spawn(warden::keep(session.clone()));
        #[cfg(any(feature = "sasl-digest", feature = "sasl-gssapi"))]
        if standing == Some(Standing::Known) {
            session.spawn(login::keep_known(session.clone()));
        }
        #[cfg(feature = "tls")]
        if let Some(transport) = self.security.transport.clone() {
            session.spawn(tls::keep_fresh(session.clone(), transport));
        }
        Ok(session)
    }

    /// Logs a warning if the servers granted another session timeout than the one that was asked for.
    fn compare(&self, granted: Duration) {
        if granted.as_millis() != self.timeout.as_millis() {
            tracing::warn!(
                asked = ?self.timeout,
                ?granted,
                "the servers grant another session timeout: ask for this one, or change their limits"
            );
        }
    }

    async fn connect(&self, timeout: Duration) -> Result<zk::Client, OpenError> {
        let connector = zk::Client::connector()
            .with_session_timeout(timeout)
            .with_connection_timeout(self.silence.of(timeout))
            .with_fail_eagerly();
        // A center that does not answer takes a second.
        self.security.prepare(&self.servers, self.silence.of(timeout) * 2).await?;
        let connector = self.security.equip(connector).await;
        match self.security.connect(connector, &self.attempts(timeout)).await {
            // The library does not tell the reason of each server.
            Err(OpenError::Unreachable(reason)) => {
                Err(self.diagnosed().await.unwrap_or(OpenError::Unreachable(reason)))
            }
            outcome => outcome,
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

    async fn diagnosed(&self) -> Option<OpenError> {
        self.diagnosis.of(&self.servers, self.security.certificates(), self.look_within).await
    }

    fn terms(&self, timeout: Duration) -> Result<Terms, LockError> {
        Terms::new(timeout, (self.tick, self.sync_limit), self.heartbeat)
    }

    /// Returns the servers in the connect string of the client library, for a session with this timeout.
    fn attempts(&self, timeout: Duration) -> String {
        let lease = self.terms(timeout).map(attempts::left);
        attempts::list(&self.servers, lease.unwrap_or_default())
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
            #[cfg(feature = "sasl-gssapi")]
            OpenError::NoTicket(reason) => LockError::Kerberos { endpoints, reason: reason.clone() },
            OpenError::Invalid(error) => error.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::Ack;
    use super::*;

    /// The time after which the library notices that a server is silent, by checks every eighth.
    fn given_up(silence: Duration) -> Duration {
        silence * 9 / 8
    }

    /// How often the library may try silent servers before another one, in sessions of this timeout with this tick.
    fn attempts_in_vain((timeout, tick): (Duration, Duration), servers: usize, silent: usize) -> u32 {
        let terms = Terms::new(timeout, (tick, Duration::from_secs(10)), Heartbeat::Write).unwrap();
        let entries = attempts::entries(servers, attempts::left(terms));
        (entries / servers * silent + silent.min(entries % servers)).try_into().unwrap()
    }

    #[test]
    fn a_lease_outlives_silent_servers_with_the_default_settings_and_with_short_sessions() {
        let second = Duration::from_secs(1);
        let (tick, sync_limit) = (2 * second, 10 * second);
        for (timeout, tick, ensembles) in [
            (30 * second, tick, &[(2, 1), (3, 1), (5, 2), (7, 3)][..]),
            (40 * second, tick, &[(2, 1), (3, 1), (5, 2), (7, 3)]),
            (10 * second, second / 2, &[(2, 1), (3, 1), (5, 2), (7, 3)]),
            (6 * second, tick, &[(2, 1), (3, 1), (5, 2), (7, 3)]),
        ] {
            let terms = Terms::new(timeout, (tick, sync_limit), Heartbeat::Write).unwrap();
            let silence = Silence::ForConnecting(second * 10).of(timeout);
            for (servers, silent) in ensembles {
                // The last proof was sent a heartbeat before the silence. An answer takes a little time.
                let attempts = 1 + attempts_in_vain((timeout, tick), *servers, *silent);
                let needed = terms.heartbeat() + given_up(silence) * attempts + terms.heartbeat() / 4;
                assert!(needed <= terms.term(Ack::Write), "{timeout:?} {servers}/{silent}: {needed:?}");
            }
        }
    }

    #[test]
    fn a_lease_outlives_a_silent_leader_with_the_default_settings() {
        let second = Duration::from_secs(1);
        let (timeout, tick, sync_limit) = (30 * second, 2 * second, 10 * second);
        let terms = Terms::new(timeout, (tick, sync_limit), Heartbeat::Write).unwrap();
        let silence = Silence::ForConnecting(second * 10).of(timeout);
        // The followers notice within the sync limit and elect within about a second. After that, the library
        // may still try the silent leader.
        let elected = sync_limit + second;
        let needed =
            terms.heartbeat() + elected + given_up(silence) * attempts_in_vain((timeout, tick), 3, 1);
        assert!(needed <= terms.term(Ack::Write), "{needed:?}");
    }

    #[test]
    fn connecting_takes_less_than_its_bound_behind_silent_servers() {
        let (bound, tick) = (Duration::from_secs(10), Duration::from_secs(2));
        for timeout in [6, 30, 3600].map(Duration::from_secs) {
            for (servers, silent) in [(2, 1), (3, 1), (5, 2), (7, 3)] {
                let silence = Silence::ForConnecting(bound).of(timeout);
                assert!(given_up(silence) * attempts_in_vain((timeout, tick), servers, silent) < bound);
            }
        }
    }
}
