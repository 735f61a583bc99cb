//! The order in which the calls of a fleet are served, and the end of their releases.

use std::time::Duration;

/// The order in which the calls of all processes are served at one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Queueing {
    /// The calls of one client share one place in the queue of the lock, and are served in the order in which
    /// they came. A release passes the lock on to the client's next call, without a request.
    ///
    /// Clients are served in the order in which they entered the queue. While another client waits, a client
    /// keeps the lock for at most this many grants and this long, and then goes to the tail of the queue. A
    /// body that runs when the time is over ends first. While no other client waits, there is no bound.
    ///
    /// The calls for one permit of a semaphore share up to eight places. The bounds hold for each permit, and in any
    /// case, because the holders of permits do not see who waits. A call for several permits has a place of its own.
    Process {
        /// The number of grants, at least 1.
        turns: u32,
        #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
        /// The time. With zero, a client that others wait behind gives the lock up after each grant.
        within: Duration,
    },
    /// Each call has a place of its own in the queue of the lock. All calls of all processes are served in the
    /// order in which they entered the queue, as the threads of Curator's clients are.
    Task,
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

impl Default for Queueing {
    /// Returns [`Queueing::Process`] with 64 grants and 50 ms.
    fn default() -> Self {
        Self::Process { turns: 64, within: Duration::from_millis(50) }
    }
}
