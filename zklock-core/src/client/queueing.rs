//! How long a client keeps a lock that others wait for, and the end of its releases.

use std::time::Duration;

/// The bounds within which a client keeps a lock for its own calls while other clients wait for it.
///
/// The calls of one client share one place in the queue of the lock, and are served in the order in which they came. A
/// release passes the lock on to the client's next call, without a request.
///
/// Clients are served in the order in which they entered the queue. While another client waits, a client keeps the lock
/// until one of the bounds is reached, and then goes to the tail of the queue. A body that runs when the time is over
/// ends first. While no other client waits, there is no bound.
///
/// The calls for one permit of a semaphore share up to eight places. The bounds hold for each permit, and in any case,
/// because the holders of permits do not see who waits. A call for several permits has a place of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Queueing {
    /// The number of grants, at least 1.
    pub turns: u32,
    /// The time. With zero, a client that others wait behind gives the lock up after each grant.
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    pub within: Duration,
}

impl Queueing {
    /// Returns the bounds of `turns` grants and the time `within`.
    ///
    /// Zero turns are invalid, and refused when the client is made.
    pub const fn new(turns: u32, within: Duration) -> Self {
        Self { turns, within }
    }
}

impl Default for Queueing {
    /// Returns 64 grants and 50 ms.
    fn default() -> Self {
        Self::new(64, Duration::from_millis(50))
    }
}

/// The end of a release that no caller awaits: after a body in `run` or in an annotated function.
///
/// [`Guard::release`](crate::Guard::release) always waits until another call of the client has the lock, or the
/// servers have released it. The drop of a guard never waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Release {
    /// The call returns when the request that releases the lock has been handed to the connection. For other
    /// clients, the lock is taken for as long as the request travels; if the connection breaks, until it is back.
    ///
    /// If the process ends right after the call, the request normally still arrives. Only
    /// [`Client::shutdown`](crate::Client::shutdown) makes sure of that.
    #[default]
    Background,
    /// The call returns when the servers have acknowledged the release.
    Acknowledged,
}
