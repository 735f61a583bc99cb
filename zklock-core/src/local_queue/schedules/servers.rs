//! The servers of a schedule: one queue, and the sessions of the clients.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::change;
use crate::client::worker::Worker;
use crate::lease::Lease;
use crate::queue::predicate::Role;
use crate::session::own_node::{OwnNode, REVOKE};
use crate::session::{Session, heartbeat};
use crate::token::FencingToken;

/// The servers of a schedule.
pub(super) struct Servers {
    /// The number of permits, if the queue is that of a semaphore.
    permits: usize,
    state: Mutex<State>,
    changed: Notify,
    /// Each task that watches over the locks of a session has a clone.
    watchers: Arc<()>,
}

#[derive(Default)]
struct State {
    last: i64,
    queue: Vec<Standing>,
    /// The nodes that an outsider deleted. Their holders are told a moment later.
    robbed: Vec<i64>,
    sessions: Vec<(Arc<Worker>, Arc<Session>)>,
}

/// The node of a contender.
struct Standing {
    number: i64,
    session: i64,
    role: Role,
    own_node: Arc<OwnNode>,
}

impl Servers {
    pub(super) fn new(permits: usize) -> Arc<Self> {
        Arc::new(Self { permits, state: Mutex::default(), changed: Notify::new(), watchers: Arc::default() })
    }

    /// Opens the next session of a client, and returns the one before it.
    pub(super) fn open(&self, worker: &Arc<Worker>) -> Option<Arc<Session>> {
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        drop(state);
        let session = Session::staged(number);
        let (watched, watcher) = (heartbeat::watch(session.clone()), self.watchers.clone());
        worker.spawn(async move {
            watched.await;
            drop(watcher);
        });
        let sessions = &mut self.state().sessions;
        match sessions.iter_mut().find(|(other, _)| Arc::ptr_eq(other, worker)) {
            Some((_, current)) => Some(std::mem::replace(current, session)),
            None => {
                sessions.push((worker.clone(), session));
                None
            }
        }
    }

    /// Ends all sessions.
    pub(super) fn close(&self) {
        let sessions = std::mem::take(&mut self.state().sessions);
        sessions.iter().for_each(|(_, session)| session.end());
    }

    /// Returns whether a task still watches over the locks of a session.
    pub(super) fn are_watching(&self) -> bool {
        Arc::strong_count(&self.watchers) > 1
    }

    /// Returns the present session of a client.
    pub(super) fn session(&self, worker: &Arc<Worker>) -> Arc<Session> {
        let state = self.state();
        let mut sessions = state.sessions.iter();
        let (_, session) = sessions.find(|(other, _)| Arc::ptr_eq(other, worker)).expect("a session is open");
        session.clone()
    }

    /// Creates a node, and returns its number; `None` if its session has ended.
    pub(super) fn create(&self, session: i64, role: Role, own_node: Arc<OwnNode>) -> Option<i64> {
        let mut state = self.state();
        state.sessions.iter().find(|(_, open)| open.id() == session)?;
        state.last += 1;
        let number = state.last;
        let others: Vec<_> = state.queue.iter().map(|standing| standing.own_node.clone()).collect();
        state.queue.push(Standing { number, session, role, own_node });
        drop(state);
        // The watches of all lists fire.
        others.iter().for_each(|other| other.meet());
        Some(number)
    }

    /// Deletes the nodes that match, and returns how many they were.
    fn delete(&self, matches: impl Fn(&Standing) -> bool) -> usize {
        let mut state = self.state();
        let before = state.queue.len();
        state.queue.retain(|standing| !matches(standing));
        let deleted = before - state.queue.len();
        drop(state);
        self.changed.notify_waiters();
        deleted
    }

    pub(super) fn delete_node(&self, number: i64) {
        self.delete(|standing| standing.number == number);
    }

    /// Ends a session at the servers.
    pub(super) fn expire(&self, session: i64) {
        self.delete(|standing| standing.session == session);
    }

    /// Deletes the node at this place of the queue, as an outsider does.
    pub(super) fn delete_at(&self, place: usize) {
        let number = self.state().queue.get(place).map(|standing| standing.number);
        if let Some(number) = number {
            self.state().robbed.push(number);
            self.delete_node(number);
        }
    }

    /// Asks the holder at this place of the queue to release.
    pub(super) fn ask_to_release(&self, place: usize) {
        let own_node = self.state().queue.get(place).map(|standing| standing.own_node.clone());
        own_node.into_iter().for_each(|own_node| own_node.note_data(REVOKE));
    }

    /// Replaces a writer's node by a reader's. Returns `false` if it is gone.
    pub(super) fn downgrade(&self, number: i64) -> bool {
        let mut state = self.state();
        let own = state.queue.iter_mut().find(|standing| standing.number == number);
        let is_there = own.map(|standing| standing.role = Role::Read).is_some();
        drop(state);
        self.changed.notify_waiters();
        is_there
    }

    /// Returns whether an outsider has deleted the node of this lease.
    pub(super) fn has_robbed(&self, lease: &Lease) -> bool {
        let robbed = |number: &i64| FencingToken::new(*number) == lease.token();
        self.state().robbed.iter().any(robbed)
    }

    pub(super) fn has(&self, number: i64) -> bool {
        self.state().queue.iter().any(|standing| standing.number == number)
    }

    pub(super) fn nodes(&self) -> usize {
        self.state().queue.len()
    }

    /// Returns the number of contenders that this one waits for; `None` if its node is gone.
    pub(super) fn ahead(&self, number: i64) -> Option<usize> {
        let state = self.state();
        let place = state.queue.iter().position(|standing| standing.number == number)?;
        let in_front = &state.queue[..place];
        Some(match state.queue[place].role {
            Role::Read => in_front.iter().filter(|standing| standing.role != Role::Read).count(),
            Role::Permit => (place + 1).saturating_sub(self.permits),
            Role::Write | Role::Exclusive | Role::Latch => place,
        })
    }

    /// Waits until there is an answer.
    pub(super) async fn until<T>(&self, answer: impl Fn(&Self) -> Option<T>) -> T {
        change::until(&self.changed, || answer(self)).await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
