//! The calls of one client at one lock, with the leases and the callers that belong to them.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, oneshot};

use crate::change::Mutex;
use crate::client::worker::Worker;
use crate::contend::{Claims, Count, Wanted};
use crate::error::{Holder, LockError, Phase};
use crate::events::Witness;
use crate::lease::{Claim, Look, Share};
use crate::path::NodePath;
use crate::queue::predicate::Role;

use super::held::{Handle, Kind, Mode, NodeId};
use super::state::{Call, Granted, State, Wake};

/// The calls of one client at one lock, or for a number of permits of one semaphore.
pub(super) struct LocalQueue {
    pub(super) worker: Arc<Worker>,
    pub(super) path: NodePath,
    /// What the calls want. Readers and writers share a queue, which has that of a writer.
    pub(super) key: Wanted,
    pub(super) state: Mutex<CallState>,
    /// The contender of another client, or another node of this one, that the contender waits for, if it is known.
    pub(super) front: Mutex<Option<Box<Holder>>>,
    /// Wakes the task.
    pub(super) changed: Notify,
    /// The local queues of the client.
    all: Weak<Mutex<Queues>>,
}

/// The local queues of one client, by path. One is forgotten when its last user drops it.
#[derive(Default)]
pub(crate) struct LocalQueues(Arc<Mutex<Queues>>);

type Queues = HashMap<NodePath, Vec<Weak<LocalQueue>>>;

pub(super) type CallState = State<Caller, Claims>;

/// A call that waits.
pub(super) struct Caller {
    pub(super) reply: oneshot::Sender<Answer>,
    /// Told that the call waits in the queue, once its place is known. `None` if nobody listens.
    pub(super) witness: Option<Witness>,
}

/// The answer to a call: its grants, or `None` if it does not wait and others have the lock. The error is boxed, because each
/// call that waits has room for an answer.
pub(super) type Answer = Result<Option<Grants>, Box<LockError>>;

impl LocalQueue {
    /// Returns what a contender in this mode takes.
    pub(super) fn wanted(&self, mode: Mode) -> Wanted {
        let mut wanted = self.key.clone();
        if let (Wanted::Place(place), Mode::Shared) = (&mut wanted, mode) {
            place.role = Role::Read;
        }
        wanted
    }

    /// Makes a change, and performs what follows from it: nodes leave, the task is woken if it has work, and calls get the lock.
    pub(super) fn change(
        self: &Arc<Self>,
        change: impl FnOnce(&mut CallState, Instant) -> Vec<Granted<Caller, Claims>>,
    ) {
        let mut state = self.state.lock();
        let now = Instant::now();
        let grants = change(&mut state, now);
        let left = mem::take(&mut state.left);
        let wake = state.wake(now);
        drop(state);
        // If readers have a node that leaves, other clients' readers are let in. The claims end after that order, so that the
        // task of the node performs both, and before the task is woken, which may contend again behind the node.
        let shut_out = left.iter().filter(|node| node.shuts_readers_out()).flat_map(|node| &node.claim);
        shut_out.for_each(|claim| drop(claim.lease().downgrade()));
        drop(left);
        match wake {
            Wake::Nobody => {}
            Wake::Task => self.changed.notify_one(),
            Wake::NewTask => self.start(),
        }
        // Readers that are let in together know of each other.
        let made: Vec<_> = grants.into_iter().map(|granted| self.grants(granted)).collect();
        made.into_iter().for_each(|(caller, grants)| self.send(caller, grants));
    }

    /// Makes the grants of a call.
    fn grants(self: &Arc<Self>, granted: Granted<Caller, Claims>) -> (Caller, Grants) {
        let Granted { call, claim: claims, node, handoff } = granted;
        if handoff > 0 && matches!(self.key, Wanted::Place(_)) {
            // The turn of this client is bounded while others wait.
            claims.iter().for_each(|claim| claim.lease().look_for_others());
        }
        let grant = |claim: Claim| {
            let share = Arc::new(Share::new(claim.lease(), handoff));
            Arc::new(Grant { claim: Some(claim), share, queue: self.clone(), node })
        };
        (call.caller, claims.into_iter().map(grant).collect())
    }

    /// Sends the grants of a call to its caller. If the caller is gone, they are dropped, and so go to the next one in line. This
    /// ends after a few, because only a caller that is just being dropped is gone and still in line.
    fn send(&self, caller: Caller, grants: Grants) {
        let shares: Vec<_> = grants.iter().map(|grant| grant.share().clone()).collect();
        if caller.reply.send(Ok(Some(grants))).is_ok() {
            shares.iter().for_each(|share| share.report_handoff());
        }
    }

    pub(super) fn timeout(&self, waited: Duration) -> LockError {
        let (phase, holder) = self.in_the_way();
        LockError::Timeout { path: self.path.relative().to_owned(), waited, phase, holder }
    }

    /// Returns the phase of the calls in line, and the contender in their way if it is known.
    pub(super) fn in_the_way(&self) -> (Phase, Option<Holder>) {
        let phase = match self.worker.current_session() {
            _ if self.state.lock().is_queued() => Phase::Queued,
            Some(_) => Phase::Entering,
            None => Phase::Connecting,
        };
        (phase, if phase == Phase::Queued { self.holder() } else { None })
    }

    /// Returns the contender that calls in line wait for, if it is known.
    pub(super) fn holder(&self) -> Option<Holder> {
        let front = self.front.lock().as_deref().cloned();
        // A contender under way is what the calls wait for, even if others of this client hold the lock.
        front.or_else(|| self.state.lock().is_behind_own().then(|| Holder::this_client(1)))
    }
}

/// Answers calls, each after the length of its wait.
pub(super) fn answer(
    calls: Vec<Call<Caller>>,
    answer: impl Fn(Duration) -> Result<Option<Grants>, LockError>,
) {
    for Call { caller, deadline, .. } in calls {
        caller.reply.send(answer(deadline.wait).map_err(Box::new)).ok();
    }
}

impl Handle for Claims {
    fn look(&self) -> Look {
        let looks = self.iter().map(|claim| claim.lease().look());
        looks.reduce(Look::beside).expect("a call has at least one claim")
    }
}

/// One holder's part of a held lock. Dropping it gives the lock back.
pub(crate) struct Grant {
    /// The holder's claim. Taken when the lock is given back.
    claim: Option<Claim>,
    share: Arc<Share>,
    /// The local queue to which the lock is given back.
    queue: Arc<LocalQueue>,
    node: NodeId,
}

/// The grants of one call, mostly one. Each is shared by the holds of its lock.
pub(crate) type Grants = Vec<Arc<Grant>>;

impl Grant {
    /// Returns the holder's share of the lease.
    pub(crate) fn share(&self) -> &Arc<Share> {
        &self.share
    }

    /// Orders that readers may share the lock. The returned future waits until the server has applied it, or the lock is
    /// lost. It need not be polled.
    pub(crate) fn downgrade(&self) -> impl Future<Output = Result<(), LockError>> + Send + use<> {
        if !self.share.lease().is_forked() {
            self.queue.change(|state, now| state.downgraded(self.node, now));
        }
        self.share.lease().downgrade()
    }
}

impl Drop for Grant {
    /// Gives the lock back, in this thread and without a request if another call waits for it. If none does, it is released in a
    /// moment.
    fn drop(&mut self) {
        let Some(claim) = self.claim.take() else { return };
        if self.share.lease().is_forked() {
            // The lock is left to the process from which this one was forked.
            return mem::forget(claim);
        }
        self.share.end();
        // The line gives its claim up behind this one, and so orders the release before it wakes its task, which
        // may create another node.
        drop(claim);
        self.queue.change(|state, now| state.given_back(self.node, now));
    }
}

impl LocalQueues {
    /// Returns the local queue of this path and key, which the first call makes.
    pub(super) fn get(&self, worker: &Arc<Worker>, path: &NodePath, key: Wanted) -> Arc<LocalQueue> {
        // Dropped behind the mutex, because the last user of a local queue removes it.
        let present: Vec<_>;
        let mut queues = self.0.lock();
        let at = queues.entry(path.clone()).or_default();
        present = at.iter().filter_map(Weak::upgrade).collect();
        present.iter().find(|queue| queue.key == key).cloned().unwrap_or_else(|| {
            let queue = Arc::new(LocalQueue {
                worker: worker.clone(),
                path: path.clone(),
                state: Mutex::new(State::new(worker.settings.queueing, kind(&key))),
                key,
                front: Mutex::default(),
                changed: Notify::new(),
                all: Arc::downgrade(&self.0),
            });
            at.push(Arc::downgrade(&queue));
            queue
        })
    }

    /// Returns the local queues of this path.
    pub(super) fn at(&self, path: &NodePath) -> Vec<Arc<LocalQueue>> {
        let queues = self.0.lock();
        queues.get(path).into_iter().flatten().filter_map(Weak::upgrade).collect()
    }
}

/// Returns what the calls of a local queue wait for.
fn kind(wanted: &Wanted) -> Kind {
    let Wanted::Permits(permits) = wanted else { return Kind::Lock };
    let most = match permits.count {
        Count::Agreed(of) => usize::try_from(of / permits.wanted).ok(),
        Count::Shared { .. } => None,
    };
    Kind::Permits { each: permits.wanted, most }
}

impl Drop for LocalQueue {
    /// Removes the local queues at this path that are gone. Another one may have taken the place of this one.
    fn drop(&mut self) {
        let Some(all) = self.all.upgrade() else { return };
        let mut queues = all.lock();
        if let Some(at) = queues.get_mut(&self.path) {
            at.retain(|queue| queue.strong_count() > 0);
            if at.is_empty() {
                queues.remove(&self.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::client::{connect, connected, soon};
    use crate::deadline::{Contention, Deadline};
    use crate::event::LockEventKind;
    use crate::queue::predicate::Place;

    use super::*;

    const WAIT: Duration = Duration::from_secs(20);

    /// Puts a call into the line, and returns the receiver of its answer.
    fn arrive(queue: &Arc<LocalQueue>) -> oneshot::Receiver<Answer> {
        let (reply, answer) = oneshot::channel();
        queue.change(|state, now| {
            let deadline = Deadline::new(WAIT, Contention::Wait);
            let caller = Caller { reply, witness: None };
            let call = Call { id: state.id(), mode: Mode::Exclusive, deadline, caller };
            state.arrive(call, now).unwrap_or_default()
        });
        answer
    }

    #[tokio::test]
    async fn a_grant_whose_caller_is_gone_without_a_word_goes_to_the_next_one() {
        let (_server, client) = connected().await;
        let (mutex, semaphore) = (client.mutex("/a").unwrap(), client.semaphore("/b", 1).unwrap());
        let (guard, permit) = (mutex.lock().await.unwrap(), semaphore.acquire().await.unwrap());
        let queues: &LocalQueues = client.local_queues().get_or_default();
        let path = |path| NodePath::new(client.worker().root(), path).unwrap();
        let (line, pool) = (&queues.at(&path("/a"))[0], &queues.at(&path("/b"))[0]);
        let gone = || drop((arrive(line), arrive(pool)));
        // The receivers are gone, and the line does not know it yet.
        (0..3).for_each(|_| gone());
        let living = [arrive(line), arrive(pool)];
        (0..3).for_each(|_| gone());
        guard.release().await.unwrap();
        permit.release().await.unwrap();
        for answer in living {
            let answer = soon(answer).await.unwrap();
            assert!(matches!(answer, Ok(Some(_))));
        }
        mutex.lock().await.unwrap().release().await.unwrap();
        semaphore.acquire().await.unwrap().release().await.unwrap();
    }

    #[tokio::test]
    async fn a_lock_whose_next_caller_is_gone_is_released_and_not_passed_on() {
        let (server, client) = connected().await;
        let other = connect(&server).await;
        let mut events = client.events();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let queues: &LocalQueues = client.local_queues().get_or_default();
        let path = NodePath::new(client.worker().root(), "/a").unwrap();
        let line = queues.at(&path)[0].clone();
        (0..3).for_each(|_| drop(arrive(&line)));
        guard.release().await.unwrap();
        // The node is gone by now.
        assert!(other.mutex("/a").unwrap().try_lock().await.unwrap().is_some());
        let end = loop {
            let kind = events.next().await.unwrap().kind;
            if !matches!(kind, LockEventKind::Begun | LockEventKind::Acquired { .. }) {
                break kind;
            }
        };
        assert!(matches!(end, LockEventKind::Released { .. }), "{end:?}");
    }

    #[tokio::test]
    async fn each_call_is_told_once_how_many_are_in_front_when_its_place_is_known() {
        let (server, client) = connected().await;
        let other = connect(&server).await;
        let held = other.mutex("/a").unwrap().lock().await.unwrap();
        let mut events = client.events();
        let lock = || {
            let mutex = client.mutex("/a").unwrap();
            tokio::spawn(async move { mutex.lock().await.unwrap().release().await.unwrap() })
        };
        // These come before the place of their contender is known, and the last one after it.
        let mut calls = vec![lock(), lock(), lock()];
        let mut told = Vec::new();
        while told.len() < 4 {
            if let LockEventKind::Queued { ahead } = events.next().await.unwrap().kind {
                told.push(ahead);
            }
            if told.len() == 3 && calls.len() == 3 {
                calls.push(lock());
            }
        }
        assert_eq!(told, [1, 2, 3, 4]);
        held.release().await.unwrap();
        for call in calls {
            call.await.unwrap();
        }
        drop(client);
        while let Some(event) = events.next().await {
            assert!(!matches!(event.kind, LockEventKind::Queued { .. }), "{event:?}");
        }
    }

    #[tokio::test]
    async fn local_queues_of_one_path_are_kept_apart_by_their_keys_and_forgotten_one_by_one() {
        let (_server, client) = connected().await;
        let (queues, worker) = (LocalQueues::default(), client.worker());
        let path = NodePath::new("", "/a").unwrap();
        let get = |role| {
            let key = Wanted::Place(Place { role, also_behind: Arc::default() });
            queues.get(worker, &path, key)
        };
        let (mutex, lock) = (get(Role::Exclusive), get(Role::Write));
        assert!(Arc::ptr_eq(&mutex, &get(Role::Exclusive)) && !Arc::ptr_eq(&mutex, &lock));
        assert_eq!(queues.at(&path).len(), 2);
        drop(mutex);
        assert!(Arc::ptr_eq(&queues.at(&path)[0], &lock));
        drop(lock);
        assert!(queues.0.lock().is_empty());
    }

    #[cfg(feature = "metrics")]
    #[tokio::test]
    async fn a_node_whose_first_caller_is_gone_is_one_turn() {
        use crate::mode::Mode;

        let (server, client) = connected().await;
        let other = connect(&server).await;
        let held = other.mutex("/a").unwrap().lock().await.unwrap();
        let mutex = client.mutex("/a").unwrap();
        let waiting = async |count: usize| {
            let queues: &LocalQueues = client.local_queues().get_or_default();
            let path = NodePath::new(client.worker().root(), "/a").unwrap();
            loop {
                let line = queues.at(&path).first().cloned();
                if let Some(line) = line.filter(|line| line.state.lock().waiting.len() == count) {
                    return line;
                }
                tokio::task::yield_now().await;
            }
        };
        let lock = || {
            tokio::spawn({
                let mutex = mutex.clone();
                async move { mutex.lock().await.unwrap() }
            })
        };
        let first = lock();
        drop(arrive(&waiting(1).await));
        let (second, third) = (lock(), lock());
        waiting(4).await;
        first.abort();
        waiting(3).await;
        held.release().await.unwrap();
        let guard = second.await.unwrap();
        assert_eq!(guard.fencing_token().handoff(), 1);
        guard.release().await.unwrap();
        third.await.unwrap().release().await.unwrap();
        let events = client.worker().events().expect("what happens is counted");
        let counts = events.counters().of("unnamed", Mode::Exclusive).counts.lock().clone();
        assert_eq!((counts.turns, counts.acquired(), counts.passed_on), (1, 2, 1));
    }
}
