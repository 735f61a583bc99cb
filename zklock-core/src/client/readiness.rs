//! The readiness of a client, for health endpoints.

use std::fmt;

use crate::session::Health;

use super::worker::Worker;

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
        /// The last failure to open one, with the reason of each server. `None` before the first failure.
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

impl Worker {
    /// Returns the readiness of the client.
    pub(super) fn readiness(&self) -> Readiness {
        match self.health() {
            _ if self.is_closing() => Readiness::Closing,
            Health::Connected => Readiness::Ready,
            Health::Suspended => Readiness::Suspended,
            Health::Lost => Readiness::Disconnected { reason: self.failure() },
        }
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
    use super::*;

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

    #[test]
    fn only_a_connected_session_is_ready() {
        use Readiness::{Closing, Disconnected, NotInstalled, Ready, Suspended};
        assert!(Ready.is_ready());
        let others = [Suspended, Disconnected { reason: None }, Closing, NotInstalled];
        assert!(!others.iter().any(Readiness::is_ready));
    }
}
