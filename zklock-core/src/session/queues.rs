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
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::path::NodePath;
use crate::queue::contender::Sequence;

use super::connection::Watch;

/// The way in which a contender enters a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By a transaction that creates the queue, too.
    Founding,
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
            Self::Founding | Self::After(..) => 1,
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
    /// When queues that were proved too long ago were forgotten the last time.
    swept: Option<Instant>,
    /// Counts watches, on all connections.
    watches: u64,
    /// The size of the watched paths.
    bytes: usize,
    /// The parents of queues for which a founding was refused.
    parents: HashMap<String, Parent>,
    /// Whether this client may not create queues together with contenders at all.
    is_closed: bool,
}

/// A queue whose node existed at this time.
struct Queue {
    proved: Instant,
    usage: Use,
}

/// The use that this client has made of a queue.
enum Use {
    /// It was there when this client was about to create it. Many are met once.
    Met,
    Entered,
    /// This watch was set while a contender existed.
    Watched {
        id: WatchId,
        watch: Watch,
        last: Option<Sequence>,
    },
}

/// The refusals of foundings below one node since the last success.
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
        memory.sweep(Instant::now());
        memory.look_at_watch(path);
        let has_room = memory.has_room(path);
        let Some(queue) = memory.queues.get_mut(path) else {
            let may_found = memory.may_found(path.parent(), is_missing);
            return if may_found { Way::Founding } else { Way::List };
        };
        match &mut queue.usage {
            Use::Watched { id, last, .. } => last.take().map_or(Way::List, |last| Way::After(last, *id)),
            Use::Entered if has_room => Way::ListAndWatch,
            Use::Entered | Use::Met => Way::List,
        }
    }

    /// Tells whether a queue that is missing may be created together with a contender.
    pub(super) fn may_found(&self, path: &NodePath) -> bool {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !memory.is_closed && !matches!(memory.parents.get(path.parent()), Some(Parent::Closed))
    }

    /// Notes that a queue exists.
    pub(super) fn prove(&self, path: &NodePath, connection: u64) {
        self.of(connection).prove(path, Use::Entered);
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
        memory.prove(path, Use::Entered);
        memory.watches += 1;
        let (id, is_current) = (WatchId(memory.watches), memory.connection == connection);
        let has_room = memory.has_room(path);
        if let Some(queue) = memory.queues.get_mut(path)
            && matches!(queue.usage, Use::Entered)
            && is_current
            && has_room
        {
            queue.usage = Use::Watched { id, watch, last: None };
            memory.bytes += path.full().len();
        }
    }

    /// Returns the watch on the queue's node, which has not fired.
    pub(super) fn watch(&self, path: &NodePath, connection: u64) -> Option<WatchId> {
        let mut memory = self.of(connection);
        memory.look_at_watch(path);
        match memory.queues.get(path)?.usage {
            Use::Watched { id, .. } => Some(id),
            Use::Met | Use::Entered => None,
        }
    }

    /// Notes the number of a contender that was first, existed under this watch, and is certainly deleted.
    pub(super) fn leave(&self, path: &NodePath, connection: u64, (number, watch): (Sequence, WatchId)) {
        if let Some(queue) = self.of(connection).queues.get_mut(path)
            && let Use::Watched { id, last, .. } = &mut queue.usage
            && *id == watch
        {
            *last = Some(number);
        }
    }

    /// Notes that a queue was created together with its contender.
    pub(super) fn founded(&self, path: &NodePath, connection: u64) {
        let mut memory = self.of(connection);
        memory.parents.remove(path.parent());
        memory.prove(path, Use::Entered);
    }

    /// Notes that a queue was there already.
    pub(super) fn note_occupied(&self, path: &NodePath, connection: u64) {
        let mut memory = self.of(connection);
        if let Parent::Occupied(count) = memory.parent(path.parent()) {
            *count += 1;
        }
        memory.prove(path, Use::Met);
    }

    /// Notes that this client may not create queues below the parent of this one.
    pub(super) fn close(&self, path: &NodePath, connection: u64) {
        *self.of(connection).parent(path.parent()) = Parent::Closed;
    }

    /// Notes that this client may not create queues together with contenders anywhere.
    pub(super) fn close_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
    }

    /// Returns what is known on the connection of this connection.
    fn of(&self, connection: u64) -> MutexGuard<'_, Memory> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.connection < connection {
            let parents = std::mem::take(&mut memory.parents);
            let (watches, is_closed) = (memory.watches, memory.is_closed);
            *memory = Memory { connection, parents, watches, is_closed, ..Memory::default() };
        }
        memory
    }
}

impl Memory {
    fn may_found(&mut self, parent: &str, is_missing: bool) -> bool {
        match self.parents.get_mut(parent) {
            _ if self.is_closed => false,
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

    fn prove(&mut self, path: &NodePath, usage: Use) {
        let proved = Instant::now();
        if let Some(queue) = self.queues.get_mut(path) {
            queue.proved = proved;
            if let Use::Met = queue.usage {
                queue.usage = usage;
            }
            return;
        }
        if self.queues.len() >= MOST_QUEUES {
            // Those with watches are few, and the end of a watch costs a request.
            self.retain(|queue| matches!(queue.usage, Use::Watched { .. }));
        }
        self.queues.insert(path.clone(), Queue { proved, usage });
    }

    fn has_room(&self, path: &NodePath) -> bool {
        self.bytes + path.full().len() <= MOST_BYTES
    }

    /// Forgets a queue whose node has changed, and may have been deleted.
    fn look_at_watch(&mut self, path: &NodePath) {
        if let Some(queue) = self.queues.get_mut(path)
            && let Use::Watched { watch, .. } = &mut queue.usage
            && watch.has_fired()
        {
            self.forget(path);
        }
    }

    /// Forgets the queues that were proved too long ago, from time to time.
    fn sweep(&mut self, now: Instant) {
        if self.swept.is_none_or(|swept| now.saturating_duration_since(swept) >= SWEEP_EVERY) {
            self.swept = Some(now);
            self.retain(|queue| now.saturating_duration_since(queue.proved) < RETENTION);
        }
    }

    fn retain(&mut self, keeps: impl Fn(&Queue) -> bool) {
        let Self { queues, bytes, .. } = self;
        queues.retain(|path, queue| {
            let is_kept = keeps(queue);
            if !is_kept {
                *bytes -= queue.watched_bytes(path);
            }
            is_kept
        });
    }

    fn forget(&mut self, path: &NodePath) {
        if let Some(queue) = self.queues.remove(path) {
            self.bytes -= queue.watched_bytes(path);
        }
    }
}

impl Queue {
    fn watched_bytes(&self, path: &NodePath) -> usize {
        match self.usage {
            Use::Watched { .. } => path.full().len(),
            Use::Met | Use::Entered => 0,
        }
    }
}

/// The time for which a queue is taken to exist. Servers look for unused containers once a minute.
const RETENTION: Duration = Duration::from_secs(60);
/// The shortest time between two looks for queues that were proved longer ago than that.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// The number of queues that are remembered.
const MOST_QUEUES: usize = 16_384;
/// The number of parents that are remembered.
const MOST_PARENTS: usize = 1_024;
/// The number of refusals in a row after which other contenders below a parent list first.
const MOST_OCCUPIED: u32 = 8;
/// Out of this many contenders, one tries again.
const RARELY: u32 = 16;
/// The size of the paths that are watched for their numbers, which bounds the memory of the servers.
const MOST_BYTES: usize = 32 * 1024;

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
    async fn a_queue_is_founded_then_watched_and_then_entered_by_its_numbers() {
        let queues = Queues::default();
        assert_eq!(queues.way(&path(1), 0, false), Way::Founding);
        queues.founded(&path(1), 0);
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
        assert_eq!(queues.way(&path(1), 0, false), Way::Founding, "the queue may be gone");
        let (watch, _fire) = watch();
        queues.keep(&path(1), 0, watch);
        queues.leave(&path(1), 0, (number(7), first));
        assert_eq!(queues.way(&path(1), 0, false), Way::List, "the number is of another queue");
        let (_, _fire) = leave(&queues, 2, 0, 7);
        assert_eq!(queues.way(&path(2), 1, false), Way::Founding);
    }

    #[tokio::test]
    async fn a_queue_is_forgotten_a_minute_after_it_was_proved() {
        let queues = Queues::default();
        queues.prove(&path(1), 0);
        let proved = Instant::now();
        queues.prove(&path(2), 0);
        queues.of(0).sweep(proved + RETENTION);
        assert_eq!(queues.way(&path(1), 0, false), Way::Founding);
        assert_eq!(queues.way(&path(2), 0, false), Way::ListAndWatch);
    }

    #[tokio::test]
    async fn where_queues_exist_already_most_contenders_list_first() {
        let queues = Queues::default();
        (0..8).for_each(|n| queues.note_occupied(&path(n), 0));
        let founds = |n: &usize| queues.way(&path(*n), 0, false) == Way::Founding;
        assert_eq!((100..132).filter(founds).count(), 2);
        assert_eq!(queues.way(&path(200), 0, true), Way::Founding, "a list found no queue");
        queues.founded(&path(200), 0);
        assert_eq!((300..332).filter(founds).count(), 32);
        queues.close(&path(0), 0);
        assert!(!queues.may_found(&path(400)) && queues.way(&path(400), 0, true) == Way::List);
    }

    #[tokio::test]
    async fn the_memory_of_queues_is_bounded() {
        let queues = Queues::default();
        (0..=MOST_QUEUES).for_each(|n| queues.prove(&path(n), 0));
        assert_eq!(queues.way(&path(0), 0, false), Way::Founding, "it made room for the last one");
        assert!(queues.of(0).queues.len() <= MOST_QUEUES);
        let most = MOST_BYTES / path(0).full().len();
        let _fires: Vec<_> = (1..=most).map(|n| leave(&queues, n, 0, 0)).collect();
        queues.prove(&path(0), 0);
        assert_eq!(queues.way(&path(0), 0, false), Way::List, "there is no room for a watch");
        (1..=most).for_each(|n| queues.forget(&path(n), 0));
        assert_eq!(queues.of(0).bytes, 0);
        assert_eq!(queues.way(&path(0), 0, false), Way::ListAndWatch);
    }
}
