//! Counts the requests of sessions and the bytes of their nodes: what is bounded, and what metrics tell.
//!
//! The requests that prove leases pass no bound, so that they never wait behind many others.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::Refusal;

/// The requests of contenders that are under way in a session, and the nodes that it has or may have.
#[derive(Debug)]
pub(crate) struct Bounds {
    requests: Semaphore,
    bytes: AtomicUsize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { requests: Semaphore::new(REQUESTS), bytes: AtomicUsize::new(0) }
    }
}

impl Bounds {
    /// Waits until this many requests may be sent together. They are under way until the permit is dropped.
    ///
    /// A future that has a permit never waits for another one, and its task polls it until it is dropped. Otherwise all
    /// permits could be with futures that do not go on.
    pub(crate) async fn requests(&self, count: u32) -> SemaphorePermit<'_> {
        let permit = self.requests.acquire_many(count).await;
        permit.unwrap_or_else(|_| unreachable!("the semaphore is never closed"))
    }

    /// Counts a node whose path has this many bytes, unless the paths of the nodes would be too long together.
    ///
    /// The end of a session is one transaction with all of them. One that is longer than `jute.maxbuffer` stops the
    /// servers for good (ZOOKEEPER-4306).
    pub(super) fn add_node(&self, bytes: usize) -> Result<(), Refusal> {
        let add = |sum: usize| sum.checked_add(bytes).filter(|sum| *sum <= BYTES);
        let added = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        added.map(drop).map_err(|_| Refusal::SessionFull)
    }

    /// Takes note that a node with such a path is certainly gone.
    pub(super) fn remove_node(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns how many bytes the paths of the nodes have together.
    #[cfg(any(feature = "metrics", test))]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The number of requests of contenders that may be under way in a session.
const REQUESTS: usize = 128;
/// The bytes that the paths of a session's nodes may have together: 900 KiB, which leaves room below the default of
/// `jute.maxbuffer` for the four bytes in front of each path.
const BYTES: usize = 900 * 1024;

/// The counts of one client and all of its sessions. A request, such as a transaction, counts when it has ended.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) reads: Count,
    pub(crate) writes: Count,
    pub(crate) sessions: Count,
    pub(crate) reconnects: Count,
    /// The bodies that were started under `once_per`.
    pub(crate) starts: Count,
    /// The bodies that were not, because their period had begun.
    pub(crate) skips: Count,
}

#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn each_request_of_a_flight_counts() {
        let bounds = Bounds::default();
        let first = bounds.requests(REQUESTS as u32 - 2).await;
        assert!(bounds.requests(3).now_or_never().is_none());
        let last = bounds.requests(2).await;
        assert!(bounds.requests(1).now_or_never().is_none());
        drop(last);
        // Renews the budget with which Tokio limits a task that never yields.
        yield_now().await;
        assert!(bounds.requests(2).now_or_never().is_some());
        drop(first);
    }

    #[test]
    fn nodes_are_refused_beyond_the_bound_until_others_are_gone() {
        let bounds = Bounds::default();
        bounds.add_node(BYTES - 100).unwrap();
        assert_eq!(bounds.add_node(101), Err(Refusal::SessionFull));
        assert_eq!(bounds.add_node(usize::MAX), Err(Refusal::SessionFull));
        bounds.add_node(100).unwrap();
        bounds.remove_node(BYTES - 100);
        assert_eq!(bounds.bytes(), 100);
    }
}
