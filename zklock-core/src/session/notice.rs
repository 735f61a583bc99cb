//! Watches, of which a session can have only so many.
//!
//! On a reconnect the client library sends the paths of all watches again, in packets of 128 KiB, and cannot
//! tell the answers of two such packets apart: it would never be connected again. What does not fit into one
//! packet is therefore asked for from time to time instead of being watched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use zookeeper_client::OneshotWatcher;

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// An own node, or the children among which it is: a deletion by an outsider is noticed.
    Own,
    /// The predecessor in a queue, whose end is what a contender waits for.
    Predecessor,
}

impl Subject {
    /// How many bytes of paths may be watched before watches of this kind are done without.
    fn limit(self) -> usize {
        match self {
            Self::Own => 64 * 1024,
            Self::Predecessor => 112 * 1024,
        }
    }

    /// How often to ask where there is no watch.
    fn pause(self) -> Duration {
        match self {
            Self::Own => Duration::from_secs(10),
            Self::Predecessor => Duration::from_secs(1),
        }
    }
}

/// The bytes of paths that a session watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget(Arc<AtomicUsize>);

/// A path's part of the budget, given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    /// Takes the share of a watch on `path`, if there is room for one of its kind.
    pub(crate) fn share(&self, subject: Subject, path: &str) -> Option<Share> {
        // A path is sent with its length in front.
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

/// Tells when it is time to look again.
#[derive(Debug)]
pub(crate) enum Watch {
    /// When the server says that something changed.
    Event(OneshotWatcher, Share),
    /// After a while.
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
