//! Bounds the watches of a session. Paths beyond the limit are polled.
//!
//! On a reconnect, the client library sends the paths of all watches again, in packets of 128 KiB.
//! It cannot tell the answers to two such packets apart, and would never be connected again. Paths
//! that do not fit into one packet are therefore polled instead of watched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use zookeeper_client::OneshotWatcher;

/// The reason for a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// To detect changes by outsiders to an own node, to the list of children that contains it, or
    /// to a shared number.
    Own,
    /// To wait until the predecessor in a queue is gone.
    Predecessor,
}

impl Subject {
    /// Returns how many bytes of paths a session may watch, in total, before it polls for this
    /// reason instead.
    fn limit(self) -> usize {
        match self {
            Self::Own => 64 * 1024,
            Self::Predecessor => 112 * 1024,
        }
    }

    /// Returns the polling interval, where there is no watch.
    fn pause(self) -> Duration {
        match self {
            Self::Own => Duration::from_secs(10),
            Self::Predecessor => Duration::from_secs(1),
        }
    }
}

/// The number of bytes in the paths that a session watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget(Arc<AtomicUsize>);

/// A path's part of the budget, which is returned when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    /// Takes the share of a watch on `path`, or returns `None` if the limit for this reason is reached.
    pub(crate) fn share(&self, subject: Subject, path: &str) -> Option<Share> {
        // Each path is sent with a length prefix.
        let bytes = path.len() + size_of::<u32>();
        let fits = |used: usize| used.checked_add(bytes).filter(|used| *used <= subject.limit());
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).ok()?;
        Some(Share { budget: self.clone(), bytes })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// A signal to look at a node or at a list of children again.
#[derive(Debug)]
pub(crate) enum Watch {
    /// Fires when the server reports a change.
    Event(OneshotWatcher, Share),
    /// Fires after the polling interval.
    Pause(Subject),
}

impl Watch {
    pub(crate) async fn changed(self) {
        match self {
            Self::Event(watcher, _share) => drop(watcher.changed().await),
            Self::Pause(subject) => sleep(subject.pause()).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_nodes_leave_room_for_predecessors_and_shares_come_back() {
        let (budget, path) = (Budget::default(), "x".repeat(1020));
        let own: Vec<_> = std::iter::from_fn(|| budget.share(Subject::Own, &path)).collect();
        assert_eq!(own.len(), 64);
        let waiting: Vec<_> = std::iter::from_fn(|| budget.share(Subject::Predecessor, &path)).collect();
        assert_eq!(waiting.len(), 48);
        drop(own);
        assert!(budget.share(Subject::Own, &path).is_some());
        drop(waiting);
        assert_eq!(budget.0.load(Ordering::Relaxed), 0);
    }
}
