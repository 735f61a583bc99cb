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
                let since = Utc::of(*entered);
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
                Utc::of(*created)
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

/// A time in the form of RFC 3339, to the second.
struct Utc {
    year: u64,
    month: u64,
    day: u64,
    second_of_day: u64,
}

impl Utc {
    /// The conversion of days into a date is H. Hinnant's `civil_from_days`, for days since 1970.
    fn of(time: SystemTime) -> Self {
        let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        // Counted from the 1st of March of the year 0, so that the leap day is the last one of a year.
        let days = seconds / DAY + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Self {
            year: year + era * 400 + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
            second_of_day: seconds % DAY,
        }
    }
}

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, second_of_day } = self;
        let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// The number of seconds of a day.
const DAY: u64 = 24 * 60 * 60;
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
    fn dates_are_those_of_the_calendar() {
        let date = |seconds| Utc::of(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).to_string();
        assert_eq!(date(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(date(951_868_800), "2000-03-01T00:00:00Z");
        assert_eq!(date(1_704_067_199), "2023-12-31T23:59:59Z");
        assert_eq!(date(1_795_397_400), "2026-11-23T01:30:00Z");
        assert_eq!(date(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
