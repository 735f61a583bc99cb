//! Bounds the watches of a session. Paths beyond the limit are polled.
//!
//! On a reconnect, the client library sends the paths of all watches again, in packets of 128 KiB.
//! It cannot tell the answers to two such packets apart, and would never be connected again. Paths
//! that do not fit into one packet are therefore polled instead of watched.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::{pending, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::FutureExt;
use tokio::time::sleep;

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
}

/// The kind of a watch. The client library restores the watches of each kind separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Children,
    Data,
}

/// The paths that a session watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget(Arc<Mutex<Watched>>);

#[derive(Debug, Default)]
struct Watched {
    bytes: usize,
    /// The number of watchers of each path.
    paths: HashMap<(Kind, Arc<str>), usize>,
}

/// A watcher's part of the budget, which is returned when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    key: (Kind, Arc<str>),
}

impl Budget {
    /// Takes the share of a watch on `path`, or returns `None` if the limit for this reason is reached.
    ///
    /// A path that is watched already takes no more room, because the client library restores it once.
    pub(crate) fn share(&self, subject: Subject, kind: Kind, path: &str) -> Option<Share> {
        let key = (kind, Arc::from(path));
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watchers) = watched.paths.get_mut(&key) {
            *watchers += 1;
        } else {
            watched.bytes =
                Some(watched.bytes + size_on_the_wire(path)).filter(|bytes| *bytes <= subject.limit())?;
            watched.paths.insert(key.clone(), 1);
        }
        Some(Share { budget: self.clone(), key })
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.0.lock().unwrap().bytes
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut watched = self.budget.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watchers) = watched.paths.get_mut(&self.key) {
            *watchers -= 1;
            if *watchers == 0 {
                watched.paths.remove(&self.key);
                watched.bytes -= size_on_the_wire(&self.key.1);
            }
        }
    }
}

/// Returns the size of a path as it is sent, with a length prefix.
pub(super) fn size_on_the_wire(path: &str) -> usize {
    path.len() + size_of::<u32>()
}

/// The change that fired a watch, as far as anybody wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The watched node was deleted.
    Deleted,
    /// Anything else. The node may have been deleted as well.
    Other,
}

/// A signal to look at a node or at a list of children again.
pub(crate) enum Watch {
    /// Fires when the server reports a change.
    Event(Pin<Box<dyn Future<Output = Change> + Send + Sync>>),
    /// Fires after a pause, because there was no room for a watch.
    Pause(Duration),
}

impl Watch {
    /// Returns a watch that gives its share back when it fires.
    pub(crate) fn event(fires: impl Future<Output = Change> + Send + Sync + 'static, share: Share) -> Self {
        // Not in an async block, which would have room for the future twice.
        Self::Event(Box::pin(fires.map(move |change| {
            drop(share);
            change
        })))
    }

    /// Returns this watch, which keeps another one until it fires.
    pub(crate) fn keeping(self, other: Option<Self>) -> Self {
        match self {
            Self::Event(fires) => Self::Event(Box::pin(fires.map(move |change| {
                drop(other);
                change
            }))),
            pause @ Self::Pause(_) => pause,
        }
    }

    /// Returns a watch that has fired.
    pub(crate) fn fired() -> Self {
        Self::Event(Box::pin(ready(Change::Other)))
    }

    pub(crate) async fn changed(mut self) {
        self.change().await;
    }

    /// Waits for the change. After that, it must not be asked again.
    pub(crate) async fn change(&mut self) -> Change {
        match self {
            Self::Event(fires) => fires.await,
            Self::Pause(pause) => {
                sleep(*pause).await;
                Change::Other
            }
        }
    }

    /// Tells whether the watch has fired. After that, it must not be asked again.
    pub(crate) fn has_fired(&mut self) -> bool {
        match self {
            Self::Event(fires) => fires.now_or_never().is_some(),
            Self::Pause(_) => true,
        }
    }

    /// Drops a watch when it fires. Never resolves.
    pub(crate) async fn spend(watch: &mut Option<Self>) -> Infallible {
        if let Some(Self::Event(fires)) = watch {
            fires.await;
            *watch = None;
        }
        pending().await
    }
}

/// The interval at which a session looks at an own node for which there is no room for a watch. It is longer if the session
/// has so many nodes that it asks for them in portions.
pub(crate) const OWN_INTERVAL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_nodes_leave_room_for_predecessors_and_shares_come_back() {
        let (budget, path) = (Budget::default(), |n: usize| format!("{n:01020}"));
        let take = |subject, first: usize| -> Vec<_> {
            (first..).map_while(|n| budget.share(subject, Kind::Data, &path(n))).collect()
        };
        let own = take(Subject::Own, 0);
        assert_eq!(own.len(), 64);
        let waiting = take(Subject::Predecessor, 100);
        assert_eq!(waiting.len(), 48);
        drop(own);
        assert!(budget.share(Subject::Own, Kind::Data, &path(0)).is_some());
        drop(waiting);
        let watched = budget.0.lock().unwrap();
        assert_eq!((watched.bytes, watched.paths.len()), (0, 0));
    }

    #[test]
    fn many_watchers_of_one_path_take_the_room_of_one() {
        let (budget, path) = (Budget::default(), "x".repeat(1020));
        let shares: Vec<_> =
            (0..1000).map(|_| budget.share(Subject::Own, Kind::Children, &path).unwrap()).collect();
        assert_eq!(budget.bytes(), 1024);
        let data = budget.share(Subject::Own, Kind::Data, &path).unwrap();
        assert_eq!(budget.bytes(), 2048);
        drop((shares, data));
        assert_eq!(budget.bytes(), 0);
    }

    #[tokio::test]
    async fn a_watch_that_fired_takes_no_room() {
        let (budget, (fire, fired)) = (Budget::default(), tokio::sync::oneshot::channel::<()>());
        let share = budget.share(Subject::Own, Kind::Children, "/a").unwrap();
        let mut watch = Some(Watch::event(fired.map(|_| Change::Other), share));
        fire.send(()).unwrap();
        tokio::select! {
            biased;
            never = Watch::spend(&mut watch) => match never {},
            () = ready(()) => {}
        }
        assert!(watch.is_none());
        assert_eq!(budget.bytes(), 0);
    }
}
