//! Validates a configuration.

use std::sync::Arc;
use std::time::Duration;

use crate::client::connect_string::ConnectString;
use crate::client::long_waits::LongWaits;
use crate::client::settings::Settings;
use crate::error::LockError;
use crate::path;
use crate::session::sentry::REVOKE;
use crate::session::{Diagnosis, Opening, Silence};

use super::Config;
use super::invalid::invalid;

impl Config {
    pub(in crate::client) fn validated(self) -> Result<Settings, LockError> {
        let connect = ConnectString::parse(&self.connect, self.scheme())
            .map_err(|reason| invalid("connect", reason))?;
        let namespace =
            path::validate_root(&self.namespace).map_err(|reason| invalid("namespace", reason))?;
        if namespace.ends_with(char::is_whitespace) {
            // A client without the blank would be in another namespace.
            return Err(invalid("namespace", format!("{namespace:?} ends with a blank")));
        }
        self.check_durations()?;
        check_identity(&self.identity)?;
        let security = self.security()?;
        let acls = self.acls()?;
        if self.queueing.turns == 0 {
            return Err(invalid("queueing", "a client needs at least one turn"));
        }
        let silence =
            self.server_timeout.map_or_else(|| Silence::ForConnecting(self.connect_timeout), Silence::Fixed);
        Ok(Settings {
            root: format!("{}{namespace}", connect.chroot),
            default_wait: self.default_wait,
            identity: self.identity.into(),
            queueing: self.queueing,
            release: self.release,
            long_waits: Arc::new(LongWaits::new(self.warn_after)),
            opening: Opening {
                servers: connect.servers,
                timeout: self.session_timeout,
                silence,
                // Told before a caller's time to connect is over, after a wait as long as a look and the look itself.
                look_within: silence
                    .of(self.session_timeout)
                    .min(self.connect_timeout / 5)
                    .max(SHORTEST_LOOK),
                diagnosis: Diagnosis::default(),
                heartbeat: self.heartbeat,
                tick: self.tick_time,
                sync_limit: self.sync_limit,
                security,
                acls,
                tally: Arc::default(),
            },
        })
    }

    fn check_durations(&self) -> Result<(), LockError> {
        bounded("session_timeout", self.session_timeout, LONGEST_SESSION)?;
        bounded("default_wait", self.default_wait, Duration::MAX)?;
        bounded("connect_timeout", self.connect_timeout, Duration::MAX)?;
        bounded("warn_after", self.warn_after, Duration::MAX)?;
        if let Some(timeout) = self.server_timeout {
            bounded("server_timeout", timeout, self.session_timeout * 2 / 5)?;
        }
        bounded("tick_time", self.tick_time, LONGEST_SESSION)?;
        bounded("sync_limit", self.sync_limit, LONGEST_SESSION)
    }
}

/// Checks the data of a contender's node.
pub(crate) fn check_identity(identity: &str) -> Result<(), LockError> {
    if identity.len() > LONGEST_IDENTITY {
        return Err(invalid("identity", format!("it is longer than {LONGEST_IDENTITY} bytes")));
    }
    if identity.as_bytes() == REVOKE {
        return Err(invalid("identity", "it is reserved for asking a holder to release".to_owned()));
    }
    Ok(())
}

fn bounded(setting: &'static str, value: Duration, longest: Duration) -> Result<(), LockError> {
    if value.is_zero() {
        return Err(invalid(setting, "it is zero"));
    }
    limited(setting, value, longest)
}

fn limited(setting: &'static str, value: Duration, longest: Duration) -> Result<(), LockError> {
    if value > longest {
        return Err(invalid(setting, format!("{value:?} is longer than {longest:?}")));
    }
    Ok(())
}

/// The shortest look for the reason why a server opens no session. A distant one answers later than a near one.
const SHORTEST_LOOK: Duration = Duration::from_millis(300);
/// The protocol counts milliseconds in 32 bits, and a day is more than any server grants.
const LONGEST_SESSION: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest identity in bytes: each waiter reads the data of the node that it watches.
const LONGEST_IDENTITY: usize = 1024;
