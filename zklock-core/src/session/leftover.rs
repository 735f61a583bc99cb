//! The watches of waits that were given up.
//!
//! The node in front of a contender is watched until it is gone. A contender that leaves earlier has no use for the watch,
//! but its removal would cost a request. The event that fires the watch costs none, so a few watches are kept until then.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::notice::{Watch, size_on_the_wire};

/// The watches of waits that were given up, from the oldest to the latest.
#[derive(Default)]
pub(super) struct Leftovers(Mutex<VecDeque<Leftover>>);

struct Leftover {
    path: String,
    watch: Watch,
}

/// The largest number of watches that are kept.
const MOST: usize = 16;

/// The largest size of the paths of the watches that are kept, in bytes. It is a small part of what a session may watch,
/// because contenders that wait need the rest.
const MOST_BYTES: usize = 8 * 1024;

impl Leftovers {
    /// Keeps the watch on the node at this path until it fires, or until there are too many later ones. A watch that has
    /// fired is forgotten when the next one is kept.
    pub(super) fn keep(&self, path: String, watch: Watch) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Another watch on the same node brings the same event.
        kept.retain_mut(|earlier| earlier.path != path && !earlier.watch.has_fired());
        kept.push_back(Leftover { path, watch });
        while kept.len() > MOST || size(&kept) > MOST_BYTES {
            kept.pop_front();
        }
    }
}

fn size(kept: &VecDeque<Leftover>) -> usize {
    kept.iter().map(|leftover| size_on_the_wire(&leftover.path)).sum()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    use super::*;
    use crate::session::notice::{Budget, Change, Kind, Subject};

    /// Keeps a watch on a node, and returns the sender that fires it.
    fn keep(leftovers: &Leftovers, budget: &Budget, path: &str) -> oneshot::Sender<()> {
        let share = budget.share(Subject::Predecessor, Kind::Data, path).expect("there is room");
        let (fire, fired) = oneshot::channel();
        leftovers.keep(path.to_owned(), Watch::event(fired.map(|_| Change::Deleted), share));
        fire
    }

    fn paths(leftovers: &Leftovers) -> Vec<String> {
        leftovers.0.lock().unwrap().iter().map(|leftover| leftover.path.clone()).collect()
    }

    #[test]
    fn a_watch_is_kept_until_it_fires() {
        let (leftovers, budget) = (Leftovers::default(), Budget::default());
        let (a, b) = (keep(&leftovers, &budget, "/a"), keep(&leftovers, &budget, "/b"));
        assert_eq!(paths(&leftovers), ["/a", "/b"]);
        a.send(()).unwrap();
        let _c = keep(&leftovers, &budget, "/c");
        assert_eq!(paths(&leftovers), ["/b", "/c"]);
        assert_eq!(budget.bytes(), 2 * size_on_the_wire("/b"));
        assert!(!b.is_closed());
    }

    #[test]
    fn of_two_watches_on_one_node_the_later_is_kept() {
        let (leftovers, budget) = (Leftovers::default(), Budget::default());
        let [earlier, later] = [(); 2].map(|()| keep(&leftovers, &budget, "/a"));
        assert!(earlier.is_closed() && !later.is_closed());
        assert_eq!(paths(&leftovers), ["/a"]);
    }

    #[test]
    fn the_oldest_watch_is_removed_when_there_are_too_many() {
        let (leftovers, budget) = (Leftovers::default(), Budget::default());
        let watches: Vec<_> =
            (0..MOST + 2).map(|number| keep(&leftovers, &budget, &format!("/{number}"))).collect();
        let removed = watches.iter().take_while(|watch| watch.is_closed()).count();
        assert_eq!((removed, paths(&leftovers).len()), (2, MOST));
        assert!(watches[2..].iter().all(|watch| !watch.is_closed()));
    }

    #[test]
    fn long_paths_leave_room_for_contenders_that_wait() {
        let (leftovers, budget) = (Leftovers::default(), Budget::default());
        let watches: Vec<_> =
            (0..10).map(|number| keep(&leftovers, &budget, &format!("/{number:01000}"))).collect();
        assert!(budget.bytes() <= MOST_BYTES);
        assert!(watches[0].is_closed() && !watches[9].is_closed());
        let too_long = keep(&leftovers, &budget, &format!("/{:0MOST_BYTES$}", 0));
        assert!(too_long.is_closed());
        assert!(budget.bytes() < MOST_BYTES);
    }
}
