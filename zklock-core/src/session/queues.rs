//! The queues that this client entered lately, as far as that tells how the next contender enters.
//!
//! * A queue that is not known is created by the same transaction as its contender, which is then the first.
//! * A server counts the children that were created below a node, and gives the count to a sequential child. Let a
//!   contender have been first in its queue, and let it be deleted. If the next contender of this client gets the next
//!   number, no child was created in between, and all with smaller numbers are gone: it is first, too.
//! * Other contenders list the queue.
//!
//! A node that is deleted and created again counts anew. A number is therefore of use only as long as a watch on the data
//! of the queue's node has not fired. A server sends the event of a deletion before the answer to any later request of the
//! connection. The watch has to be looked at when the answer to a create is there, not before. It is set by reading the
//! data, because a server does not send events to clients that may not read the node.
//!
//! What is known of queues belongs to one connection. A new one begins without it.

use std::collections::HashMap;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use crate::change::Mutex;
use crate::path::NodePath;
use crate::queue::contender::Sequence;

use crate::connection::Watch;

/// The way in which a contender enters a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By a transaction that creates the queue, too.
    CreateQueue,
    /// With the number that follows this one, which makes a list superfluous if this watch has not fired.
    After(Sequence, WatchId),
    /// With a list, and with a watch on the queue's node for the next contender.
    ListAndWatch,
    List,
}

/// One watch on a queue's node. A later one may be on another node at the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WatchId(u64);

impl Way {
    /// Returns the number of requests that are sent together.
    pub(super) fn requests(self) -> u32 {
        match self {
            Self::CreateQueue | Self::After(..) => 1,
            Self::List => 2,
            Self::ListAndWatch => 3,
        }
    }
}

#[derive(Default)]
pub(super) struct Queues(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    /// The connection.
    connection: u64,
    queues: HashMap<NodePath, Queue>,
    /// The queues whose numbers may be of use.
    watched: HashMap<NodePath, Watched>,
    /// Counts watches, on all connections.
    watches: u64,
    /// The parents in which the creation of a queue was refused last.
    parents: HashMap<String, Parent>,
}

/// A queue whose node existed at this time.
struct Queue {
    proved: Instant,
    /// Whether this client has entered it. Many are met once, when the client is about to create them.
    is_entered: bool,
}

/// A queue that exists until this watch fires. It was set while a contender existed.
struct Watched {
    id: WatchId,
    watch: Watch,
    used: Instant,
    last: Option<Sequence>,
}

/// The refusals to create queues below one node since the last success.
enum Parent {
    /// This many queues were there already.
    Occupied(u32),
    /// The client may not create nodes there.
    Closed,
}

impl Queues {
    /// Returns the way into a queue, and takes its last number. `is_missing` tells that a list found no queue.
    pub(super) fn way(&self, path: &NodePath, connection: u64, is_missing: bool) -> Way {
        let mut memory = self.of(connection);
        memory.look_at_watch(path);
        if let Some(watched) = memory.watched.get_mut(path) {
            return watched.last.take().map_or(Way::List, |last| Way::After(last, watched.id));
        }
        let queue = memory.queues.get(path).filter(|queue| queue.proved.elapsed() < RETENTION);
        match queue.map(|queue| queue.is_entered) {
            Some(true) if memory.has_room() => Way::ListAndWatch,
            Some(_) => Way::List,
            None if memory.may_create(path.parent(), is_missing) => Way::CreateQueue,
            None => Way::List,
        }
    }

    /// Tells whether this client may not create queues below the parent of this one.
    pub(super) fn is_closed(&self, path: &NodePath) -> bool {
        matches!(self.0.lock().parents.get(path.parent()), Some(Parent::Closed))
    }

    /// Notes that a queue exists.
    pub(super) fn prove(&self, path: &NodePath, connection: u64) {
        self.of(connection).prove(path, true);
    }

    /// Notes that a queue does not exist.
    pub(super) fn forget(&self, path: &NodePath, connection: u64) {
        self.of(connection).forget(path);
    }

    /// Keeps a watch on a queue's node that was set on this connection while a contender of this client existed, unless
    /// there is one.
    pub(super) fn keep(&self, path: &NodePath, connection: u64, watch: Watch) {
        let mut memory = self.of(connection);
        memory.look_at_watch(path);
        memory.prove(path, true);
        if memory.connection == connection && !memory.watched.contains_key(path) && memory.has_room() {
            memory.watches += 1;
            let (id, used) = (WatchId(memory.watches), Instant::now());
            memory.watched.insert(path.clone(), Watched { id, watch, used, last: None });
        }
    }

    /// Returns the watch on the queue's node, which has not fired.
    pub(super) fn watch(&self, path: &NodePath, connection: u64) -> Option<WatchId> {
        let mut memory = self.of(connection);
        memory.look_at_watch(path);
        memory.watched.get(path).map(|watched| watched.id)
    }

    /// Notes the number of a contender that was first, existed under this watch, and is certainly deleted.
    pub(super) fn leave(&self, path: &NodePath, connection: u64, (number, watch): (Sequence, WatchId)) {
        if let Some(watched) = self.of(connection).watched.get_mut(path).filter(|watched| watched.id == watch)
        {
            (watched.used, watched.last) = (Instant::now(), Some(number));
        }
    }

    /// Notes that a queue was created together with its contender.
    pub(super) fn queue_created(&self, path: &NodePath, connection: u64) {
        let mut memory = self.of(connection);
        memory.parents.remove(path.parent());
        memory.prove(path, true);
    }

    /// Notes that a queue was there already.
    pub(super) fn note_occupied(&self, path: &NodePath, connection: u64) {
        let mut memory = self.of(connection);
        if let Parent::Occupied(count) = memory.parent(path.parent()) {
            *count += 1;
        }
        memory.prove(path, false);
    }

    /// Notes that this client may not create queues below the parent of this one.
    pub(super) fn close(&self, path: &NodePath, connection: u64) {
        *self.of(connection).parent(path.parent()) = Parent::Closed;
    }

    /// Returns what is known on this connection.
    fn of(&self, connection: u64) -> MutexGuard<'_, Memory> {
        let mut memory = self.0.lock();
        if memory.connection < connection {
            let parents = std::mem::take(&mut memory.parents);
            *memory = Memory { connection, parents, watches: memory.watches, ..Memory::default() };
        }
        memory
    }
}

impl Memory {
    fn may_create(&mut self, parent: &str, is_missing: bool) -> bool {
        match self.parents.get_mut(parent) {
            None => true,
            Some(Parent::Closed) => false,
            Some(Parent::Occupied(_)) if is_missing => true,
            Some(Parent::Occupied(count)) if *count < MOST_OCCUPIED => true,
            Some(Parent::Occupied(count)) => {
                *count += 1;
                count.is_multiple_of(RARELY)
            }
        }
    }

    fn parent(&mut self, path: &str) -> &mut Parent {
        if self.parents.len() >= MOST_PARENTS && !self.parents.contains_key(path) {
            self.parents.clear();
        }
        self.parents.entry(path.to_owned()).or_insert(Parent::Occupied(0))
    }

    fn prove(&mut self, path: &NodePath, is_entered: bool) {
        if self.queues.len() >= MOST_QUEUES && !self.queues.contains_key(path) {
            self.queues.clear();
        }
        let proved = Instant::now();
        let queue = self.queues.entry(path.clone()).or_insert(Queue { proved, is_entered });
        queue.proved = proved;
        queue.is_entered |= is_entered;
    }

    /// Returns whether one more queue may be watched. If there are too many, the one that has not been used for the longest
    /// time makes room for it, unless that time is short.
    fn has_room(&mut self) -> bool {
        if self.watched.len() >= MOST_WATCHED {
            let unused = self.watched.iter().min_by_key(|(_, watched)| watched.used);
            let unused = unused.filter(|(_, watched)| watched.used.elapsed() >= RETENTION);
            if let Some(path) = unused.map(|(path, _)| path.clone()) {
                self.watched.remove(&path);
            }
        }
        self.watched.len() < MOST_WATCHED
    }

    /// Forgets a queue whose node has changed, and may have been deleted.
    fn look_at_watch(&mut self, path: &NodePath) {
        if self.watched.get_mut(path).is_some_and(|watched| watched.watch.has_fired()) {
            self.forget(path);
        }
    }

    fn forget(&mut self, path: &NodePath) {
        self.queues.remove(path);
        self.watched.remove(path);
    }
}

/// The time for which a queue is taken to exist. Servers look for unused containers once a minute.
const RETENTION: Duration = Duration::from_secs(60);
/// The number of queues that are remembered.
const MOST_QUEUES: usize = 16_384;
/// The number of parents that are remembered.
const MOST_PARENTS: usize = 1_024;
/// The number of refusals in a row after which other contenders below a parent list first.
const MOST_OCCUPIED: u32 = 8;
/// Out of this many contenders, one tries again.
const RARELY: u32 = 16;
/// The number of queues that are watched for their numbers. The end of each watch costs a request.
const MOST_WATCHED: usize = 1_024;

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    fn path(n: usize) -> NodePath {
        NodePath::new("", &format!("/orders/{n:0100}")).unwrap()
    }

    /// Returns a watch, which fires when the sender is dropped.
    fn watch() -> (Watch, oneshot::Sender<()>) {
        let (fire, fired) = oneshot::channel();
        (Watch::when(async { drop(fired.await) }), fire)
    }

    fn number(n: u32) -> Sequence {
        Sequence::parse(&format!("{n:010}")).unwrap()
    }

    /// Lets a contender of a watched queue leave with a number.
    fn leave(queues: &Queues, n: usize, connection: u64, last: u32) -> (WatchId, oneshot::Sender<()>) {
        let (watch, fire) = watch();
        queues.keep(&path(n), connection, watch);
        let id = queues.watch(&path(n), connection).expect("it is watched");
        queues.leave(&path(n), connection, (number(last), id));
        (id, fire)
    }

    #[tokio::test]
    async fn a_queue_is_created_then_watched_and_then_entered_by_its_numbers() {
        let queues = Queues::default();
        assert_eq!(queues.way(&path(1), 0, false), Way::CreateQueue);
        queues.queue_created(&path(1), 0);
        assert_eq!(queues.way(&path(1), 0, false), Way::ListAndWatch);
        let (id, _fire) = leave(&queues, 1, 0, 7);
        assert_eq!(queues.way(&path(1), 0, false), Way::After(number(7), id));
        assert_eq!(queues.way(&path(1), 0, false), Way::List, "a number is of use once");
        queues.note_occupied(&path(2), 0);
        assert_eq!(queues.way(&path(2), 0, false), Way::List, "many queues are met once");
        queues.prove(&path(2), 0);
        assert_eq!(queues.way(&path(2), 0, false), Way::ListAndWatch);
    }

    #[tokio::test]
    async fn a_number_is_not_kept_over_a_new_queue_or_a_new_connection() {
        let queues = Queues::default();
        let (first, fire) = leave(&queues, 1, 0, 7);
        drop(fire);
        assert_eq!(queues.watch(&path(1), 0), None);
        assert_eq!(queues.way(&path(1), 0, false), Way::CreateQueue, "the queue may be gone");
        let (watch, _fire) = watch();
        queues.keep(&path(1), 0, watch);
        queues.leave(&path(1), 0, (number(7), first));
        assert_eq!(queues.way(&path(1), 0, false), Way::List, "the number is of another queue");
        let (_, _fire) = leave(&queues, 2, 0, 7);
        assert_eq!(queues.way(&path(2), 1, false), Way::CreateQueue);
    }

    #[tokio::test]
    async fn a_queue_is_forgotten_a_minute_after_it_was_proved() {
        let queues = Queues::default();
        let Some(long_ago) = Instant::now().checked_sub(RETENTION) else { return };
        queues.prove(&path(1), 0);
        queues.of(0).queues.get_mut(&path(1)).unwrap().proved = long_ago;
        queues.prove(&path(2), 0);
        assert_eq!(queues.way(&path(1), 0, false), Way::CreateQueue);
        assert_eq!(queues.way(&path(2), 0, false), Way::ListAndWatch);
    }

    #[tokio::test]
    async fn where_queues_exist_already_most_contenders_list_first() {
        let queues = Queues::default();
        (0..8).for_each(|n| queues.note_occupied(&path(n), 0));
        let creates = |n: &usize| queues.way(&path(*n), 0, false) == Way::CreateQueue;
        assert_eq!((100..132).filter(creates).count(), 2);
        assert_eq!(queues.way(&path(200), 0, true), Way::CreateQueue, "a list found no queue");
        queues.queue_created(&path(200), 0);
        assert_eq!((300..332).filter(creates).count(), 32);
        queues.close(&path(0), 0);
        assert!(queues.is_closed(&path(400)) && queues.way(&path(400), 0, true) == Way::List);
    }

    #[tokio::test]
    async fn the_memory_of_queues_is_bounded() {
        let queues = Queues::default();
        (0..=MOST_QUEUES).for_each(|n| queues.prove(&path(n), 0));
        assert_eq!(queues.way(&path(0), 0, false), Way::CreateQueue, "it made room for the last one");
        assert!(queues.of(0).queues.len() <= MOST_QUEUES);
        let _fires: Vec<_> = (1..=MOST_WATCHED).map(|n| leave(&queues, n, 0, 0)).collect();
        queues.prove(&path(0), 0);
        assert_eq!(queues.way(&path(0), 0, false), Way::List, "there is no room for a watch");
        let Some(long_ago) = Instant::now().checked_sub(RETENTION) else { return };
        queues.of(0).watched.get_mut(&path(1)).unwrap().used = long_ago;
        assert_eq!(queues.way(&path(0), 0, false), Way::ListAndWatch, "one has not been used for long");
    }
}
