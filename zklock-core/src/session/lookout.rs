//! The contenders for which there is no room for a watch, and the news that they wait for.
//!
//! All such contenders of a session in one queue share the lists of its children. A contender of this session that
//! leaves the queue tells the one behind it, without a request.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::queue::acquisition::Event;
use crate::queue::contender::NodeName;

/// The queues that a session looks at, by their paths.
#[derive(Debug, Default)]
pub(super) struct Lookouts(Mutex<HashMap<String, Lookout>>);

#[derive(Debug, Default)]
struct Lookout {
    interests: Vec<Interest>,
    /// The number of lists that were requested.
    lists: u64,
}

/// A contender that waits for another one to leave.
#[derive(Debug)]
struct Interest {
    own: String,
    predecessor: String,
    /// The lists requested so far, which may be older than the contender.
    lists: u64,
    tell: oneshot::Sender<Event>,
}

impl Lookouts {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Lookout>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a contender. Returns the news for it, and whether it is the first in its queue, so that nobody looks yet.
    pub(super) fn join(
        &self,
        dir: &str,
        own: String,
        predecessor: String,
    ) -> (oneshot::Receiver<Event>, bool) {
        let (tell, told) = oneshot::channel();
        let mut lookouts = self.lock();
        let is_first = !lookouts.contains_key(dir);
        let lookout = lookouts.entry(dir.to_owned()).or_default();
        lookout.interests.push(Interest { own, predecessor, lists: lookout.lists, tell });
        (told, is_first)
    }

    /// Tells the contenders that wait for these nodes that the nodes are gone.
    pub(super) fn left(&self, dir: &str, names: &[NodeName]) {
        if let Some(lookout) = self.lock().get_mut(dir) {
            lookout.tell(|interest| {
                names.iter().any(|name| **name == interest.predecessor).then_some(Event::PredecessorGone)
            });
        }
    }

    /// Forgets the contenders of a queue, which learn that there will be no news.
    pub(super) fn forget(&self, dir: &str) {
        self.lock().remove(dir);
    }

    /// Counts a list that is about to be requested, unless nobody waits for it any more.
    pub(super) fn begin(&self, dir: &str) -> Option<u64> {
        let mut lookouts = self.lock();
        let lookout = lookouts.get_mut(dir)?;
        lookout.interests.retain(|interest| !interest.tell.is_closed());
        if lookout.interests.is_empty() {
            lookouts.remove(dir);
            return None;
        }
        lookout.lists += 1;
        Some(lookout.lists)
    }

    /// Tells the contenders that joined before the list was requested what it shows.
    pub(super) fn report(&self, dir: &str, list: u64, names: &[String]) {
        let names: HashSet<_> = names.iter().map(String::as_str).collect();
        if let Some(lookout) = self.lock().get_mut(dir) {
            lookout.tell(|interest| match interest {
                newer if newer.lists >= list => None,
                gone if !names.contains(gone.own.as_str()) => Some(Event::OwnNodeGone),
                free if !names.contains(free.predecessor.as_str()) => Some(Event::PredecessorGone),
                _ => None,
            });
        }
    }
}

impl Lookout {
    fn tell(&mut self, news: impl Fn(&Interest) -> Option<Event>) {
        for index in (0..self.interests.len()).rev() {
            if let Some(event) = news(&self.interests[index]) {
                self.interests.swap_remove(index).tell.send(event).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Told = oneshot::Receiver<Event>;

    fn join(lookouts: &Lookouts, own: &str, predecessor: &str) -> Told {
        lookouts.join("/queue", own.to_owned(), predecessor.to_owned()).0
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_list_tells_whose_predecessor_or_own_node_is_gone_and_leaves_the_others_waiting() {
        let lookouts = Lookouts::default();
        let [mut b, mut c, mut d] =
            [("b", "a"), ("c", "b"), ("d", "x")].map(|(own, p)| join(&lookouts, own, p));
        let list = lookouts.begin("/queue").unwrap();
        lookouts.report("/queue", list, &names(&["b", "c"]));
        assert_eq!(b.try_recv(), Ok(Event::PredecessorGone));
        assert!(c.try_recv().is_err());
        assert_eq!(d.try_recv(), Ok(Event::OwnNodeGone));
    }

    #[test]
    fn a_list_from_before_a_contender_tells_it_nothing() {
        let lookouts = Lookouts::default();
        let _other = join(&lookouts, "b", "a");
        let list = lookouts.begin("/queue").unwrap();
        let mut late = join(&lookouts, "c", "b");
        lookouts.report("/queue", list, &names(&["a", "b"]));
        assert!(late.try_recv().is_err());
        let list = lookouts.begin("/queue").unwrap();
        lookouts.report("/queue", list, &names(&["a", "b"]));
        assert_eq!(late.try_recv(), Ok(Event::OwnNodeGone));
    }

    #[test]
    fn a_queue_is_forgotten_when_no_contender_waits_any_more() {
        let lookouts = Lookouts::default();
        drop(join(&lookouts, "b", "a"));
        assert_eq!(lookouts.begin("/queue"), None);
        assert!(lookouts.lock().is_empty());
    }
}
