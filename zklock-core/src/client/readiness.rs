//! The readiness of a client, for health endpoints.

use std::fmt;

use crate::session::Health;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Readiness {
    /// The session is open and connected.
    Ready,
    /// The session is disconnected, or has reconnected without an answer yet; it may still be alive.
    Suspended,
    /// No session is open; the client keeps trying to open the next one.
    Disconnected,
    /// The shutdown of the client has begun or is over; it takes no more locks.
    Closing,
    /// There is no client to ask; [`Client::readiness`](crate::Client::readiness) never returns this value.
    NotInstalled,
}

impl Readiness {
    /// Returns whether the client can take locks and lead.
    pub fn is_ready(self) -> bool {
        self == Self::Ready
    }
}

impl From<Health> for Readiness {
    /// Derives the readiness of a client that is not shut down from the health of its session.
    fn from(health: Health) -> Self {
        match health {
            Health::Connected => Self::Ready,
            Health::Suspended => Self::Suspended,
            Health::Lost => Self::Disconnected,
        }
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready => "ready",
            Self::Suspended => "the connection to the servers is broken",
            Self::Disconnected => "there is no session with the servers",
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
            Readiness::Disconnected,
            Readiness::Closing,
            Readiness::NotInstalled,
        ];
        assert!(from_best_to_worst.is_sorted());
        for pair in from_best_to_worst.windows(2) {
            assert_eq!(pair.iter().max(), Some(&pair[1]));
        }
    }

    #[test]
    fn only_who_is_ready_is() {
        use Readiness::{Closing, Disconnected, NotInstalled, Ready, Suspended};
        assert!(Ready.is_ready());
        assert!(![Suspended, Disconnected, Closing, NotInstalled].iter().any(|other| other.is_ready()));
    }
}
