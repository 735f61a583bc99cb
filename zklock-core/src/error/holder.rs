//! The contender in front of a call whose time is over.

use std::fmt;
use std::time::{Duration, SystemTime};

/// The contender that was nearest in front of a call when its deadline passed.
///
/// It is what the client knew without a request of its own. If only one contender was in front, it holds the lock.
/// The number of contenders in front is that of the last list of the queue; some of them may have left since.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holder {
    /// Another call of the same client.
    #[non_exhaustive]
    ThisClient {
        /// The number of contenders in front in the queue on the servers, this one included.
        ahead: u32,
    },
    /// A contender of another client.
    #[non_exhaustive]
    Other {
        /// The beginning of its node's data. A client of zklock writes its
        /// [`Config::identity`](crate::Config::identity) there. A request to release replaces it by `__REVOKE__`.
        identity: String,
        /// The id of the session that owns its node.
        session_id: i64,
        /// The time at which it entered the queue, by the clock of the server.
        entered: SystemTime,
        /// The number of contenders in front in the queue on the servers, this one included.
        ahead: u32,
    },
    /// A persistent node with the name of a contender. No session owns it, and it stays until somebody deletes it.
    #[non_exhaustive]
    Persistent {
        /// Its path below the client's namespace.
        path: String,
        /// The time at which it was created, by the clock of the server.
        created: SystemTime,
        /// The number of contenders in front in the queue on the servers, this one included.
        ahead: u32,
    },
}

impl Holder {
    /// Returns a call of this client that holds the lock, or is nearest of this many in front.
    pub(crate) fn this_client(ahead: usize) -> Self {
        Self::ThisClient { ahead: count(ahead) }
    }

    /// Returns the contender of another client that has this data, session and time, or is nearest of this many.
    pub(crate) fn other(data: &[u8], session_id: i64, entered_ms: i64, ahead: usize) -> Self {
        let text = String::from_utf8_lossy(&data[..data.len().min(4 * SHOWN)]);
        let identity = text.chars().take(SHOWN).collect();
        Self::Other { identity, session_id, entered: time(entered_ms), ahead: count(ahead) }
    }

    /// Returns the persistent node at this path, or is nearest of this many.
    pub(crate) fn persistent(path: String, created_ms: i64, ahead: usize) -> Self {
        Self::Persistent { path, created: time(created_ms), ahead: count(ahead) }
    }

    /// Returns the number of contenders that were in front in the queue on the servers, this one included.
    pub fn ahead(&self) -> u32 {
        match self {
            Self::ThisClient { ahead } | Self::Other { ahead, .. } | Self::Persistent { ahead, .. } => *ahead,
        }
    }

    /// Returns whether it is a call of the client whose call timed out.
    pub fn is_this_client(&self) -> bool {
        matches!(self, Self::ThisClient { .. })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ahead() {
            0 | 1 => f.write_str("held by ")?,
            ahead => write!(f, "the nearest of {ahead} in front is ")?,
        }
        match self {
            Self::ThisClient { .. } => f.write_str("another call of this process"),
            Self::Other { identity, session_id, entered, .. } => {
                let since = shown(*entered);
                match identity.as_str() {
                    "" => write!(f, "session {session_id:#x}")?,
                    identity => write!(f, "{identity:?} (session {session_id:#x})")?,
                }
                write!(f, ", in the queue since {since}")
            }
            Self::Persistent { path, created, .. } => write!(
                f,
                "the persistent node {path}, created at {}, which no session owns and which stays until somebody \
                 deletes it",
                shown(*created)
            ),
        }
    }
}

fn time(ms: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(ms.try_into().unwrap_or_default())
}

fn count(ahead: usize) -> u32 {
    u32::try_from(ahead).unwrap_or(u32::MAX)
}

/// Returns the text of a time in the form of RFC 3339, which has years of four digits.
fn shown(time: SystemTime) -> humantime::Rfc3339Timestamp {
    let last = SystemTime::UNIX_EPOCH + LAST;
    humantime::format_rfc3339_seconds(time.clamp(SystemTime::UNIX_EPOCH, last))
}

/// The last second of the year 9999.
const LAST: Duration = Duration::from_secs(253_402_300_799);
/// The number of characters of an identity that are kept.
const SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_holder_or_the_nearest_of_several() {
        let holder = |ahead| Holder::other(b"billing-7", 0x10_0001, 1_000_000_000_000, ahead).to_string();
        let since = "\"billing-7\" (session 0x100001), in the queue since 2001-09-09T01:46:40Z";
        assert_eq!(holder(1), format!("held by {since}"));
        assert_eq!(holder(3), format!("the nearest of 3 in front is {since}"));
        let nameless = Holder::other(b"", 7, 0, 1).to_string();
        assert_eq!(nameless, "held by session 0x7, in the queue since 1970-01-01T00:00:00Z");
        assert_eq!(Holder::this_client(1).to_string(), "held by another call of this process");
        let nearest = Holder::this_client(2).to_string();
        assert_eq!(nearest, "the nearest of 2 in front is another call of this process");
    }

    #[test]
    fn long_data_and_bytes_that_are_no_text_are_shortened() {
        for data in [vec![b'x'; 1 << 20], vec![0xff; 1 << 20], "ü".repeat(1 << 10).into_bytes()] {
            let Holder::Other { identity, .. } = Holder::other(&data, 7, 0, 1) else { panic!("no holder") };
            assert_eq!(identity.chars().count(), SHOWN);
        }
    }

    #[test]
    fn a_time_that_no_calendar_has_is_shown() {
        let holder = |ms| Holder::persistent("/a".to_owned(), ms, 1).to_string();
        assert!(holder(i64::MIN).contains(" 1970-01-01T00:00:00Z,"));
        assert!(holder(i64::MAX).contains(" 9999-12-31T23:59:59Z,"));
    }
}
