//! The state machine of one acquisition: from entering the queue to having left it.
//!
//! ```text
//!             Entered               Head
//!  Creating ───────────► Queued ───────────► Held
//!    │  ▲                 │  ▲                ▲
//!    │  │ none of mine    │  │ PredecessorGone│ Inherited
//!    ▼  │                 ▼  │                │
//!    │  │               Waiting ──────────────┘
//!  Locating ── mine found ─► Queued          (create's outcome unknown)
//!  any ─ Cancel ──────► Locating/Withdrawing ─ none of mine left ─► Withdrawn
//!  any ─ SessionLost ─► Lost                 (ephemerals die with the session)
//! ```
//!
//! The driver performs one [`Action`] at a time and reports its outcome as the next [`Event`]. Only
//! [`Event::Cancel`] and [`Event::SessionLost`] may come at any time. A request that is under way
//! is never abandoned: a cancelled machine waits for its outcome and acts on it. A request that was
//! not sent yet may be skipped.
//!
//! # Why a transaction that creates the queue proves the turn
//!
//! The servers execute a transaction as one step. If it creates the queue's node and a contender below it, there was no
//! other contender when it was executed, and all later ones are behind this one.
//!
//! # Why the end of the only contender in front is the turn
//!
//! Numbers rise, so that no contender comes to stand in front of an existing one. If a list shows one contender in front of
//! a mutex's, and that one is deleted, none is left in front of the own node.
//!
//! # Why a create whose outcome is unknown is resolved by a transaction and a list
//!
//! The server processes the requests of a session in the order in which its connection sent them. A reconnect
//! fences a create of an older connection: either it was proposed before and thus precedes the transaction,
//! which changes nothing, or it is refused, unless a later attempt to connect moves the session back (`Session::remove_late`).
//! If the node appears later nevertheless, it is recognized by its attempt and deleted as soon as a list shows it. After the
//! end of the contender, such lists are made for some time.

mod exchange;
#[cfg(test)]
mod tests;

use super::contender::{Contender, ContenderId, Sequence};
use super::predicate::{Predicate, Role};
use super::turn::{self, Turn};

pub(crate) use self::exchange::{Action, End, Event, Node, Replacement, Sight};

/// One attempt to hold a lock, within one session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Acquisition {
    id: ContenderId,
    predicate: Predicate,
    session: i64,
    state: State,
    intent: Intent,
    /// The number of requests for nodes whose outcome is unknown, without those whose node was located.
    unknown: u32,
    /// Whether the contender has had a place in the queue before. Only a new contender leaves a queue of another recipe, because
    /// a later mismatch is the mistake of other clients.
    is_settled: bool,
    /// The number of the node, if it was first, with no other contender in the list.
    ///
    /// If the next contender of the same client gets the next number of the same parent, no child was created in between. All
    /// children with smaller numbers are gone, and so it is first, too.
    first: Option<Sequence>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    Creating,
    Preparing,
    Locating,
    /// Leftovers of earlier attempts are being deleted. This contender's own node stays.
    Trimming(Node),
    Queued(Node),
    Waiting(Node),
    Held(Node),
    Downgrading(Replacement),
    Withdrawing(Vec<String>),
    Finished(End),
}

/// The goal of an acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Intent {
    Acquire,
    /// Leave no node, and end in this way.
    Withdraw(End),
}

impl Acquisition {
    /// Starts an acquisition within the session, and returns it with its first action.
    pub(crate) fn start(id: ContenderId, predicate: Predicate, session: i64) -> (Self, Action) {
        let machine = Self {
            id,
            predicate,
            session,
            state: State::Creating,
            intent: Intent::Acquire,
            unknown: 0,
            is_settled: false,
            first: None,
        };
        (machine, Action::Enter(id))
    }

    /// Handles an event and returns the next action. `None` means that the current action continues.
    pub(crate) fn on(&mut self, event: Event) -> Option<Action> {
        if let State::Finished(_) = self.state {
            return None;
        }
        match event {
            Event::SessionLost => Some(self.finish(End::Lost)),
            Event::Cancel => self.cancel(),
            Event::Permits(of) => self.recount(of),
            outcome => Some(self.advance(outcome)),
        }
    }

    /// Returns the condition under which the turn of this contender comes.
    pub(crate) fn predicate(&self) -> &Predicate {
        &self.predicate
    }

    pub(crate) fn id(&self) -> ContenderId {
        self.id
    }

    /// Returns whether a node may have been created, or may be created later, that no reply has reported.
    pub(crate) fn has_unknown_nodes(&self) -> bool {
        self.unknown > 0
    }

    /// Returns the contender's node while it is known and has a place in the queue.
    pub(crate) fn node(&self) -> Option<&Node> {
        match &self.state {
            State::Trimming(node) | State::Queued(node) | State::Waiting(node) | State::Held(node) => {
                Some(node)
            }
            State::Downgrading(replacement) => Some(&replacement.old),
            _ => None,
        }
    }

    /// Returns the number of the contender that has left, if the next contender of this client is first with
    /// the next number.
    pub(crate) fn last_number(&self) -> Option<Sequence> {
        self.first.filter(|_| self.state == State::Finished(End::Withdrawn))
    }

    /// Updates the number of permits. A waiting contender lists the queue again.
    fn recount(&mut self, of: u32) -> Option<Action> {
        self.predicate = Predicate::Permit { of };
        match &self.state {
            State::Waiting(node) => Some(self.queue(node.clone())),
            _ => None,
        }
    }

    fn cancel(&mut self) -> Option<Action> {
        self.intent = Intent::Withdraw(End::Withdrawn);
        match &self.state {
            State::Waiting(node) | State::Held(node) => Some(self.delete(vec![node.name.clone()])),
            _ => None,
        }
    }

    fn advance(&mut self, outcome: Event) -> Action {
        let is_downgrading = matches!(self.state, State::Downgrading(_));
        if outcome == Event::Refused && !is_downgrading {
            self.intent = Intent::Withdraw(End::Withdrawn);
        }
        match (self.state.clone(), outcome) {
            (State::Creating, Event::Entered(node, sight)) => self.entered(node, sight),
            (State::Creating, Event::ParentMissing) => self.prepare(),
            (State::Creating, Event::QueueExists) if self.intent == Intent::Acquire => self.create(),
            (State::Preparing, Event::Prepared) if self.intent == Intent::Acquire => self.create(),
            (State::Creating, Event::QueueExists | Event::Refused | Event::Skipped) => self.gone(),
            (State::Preparing, Event::Prepared | Event::Refused | Event::Skipped) => self.gone(),
            (State::Creating, _) => {
                self.unknown += 1;
                self.locate()
            }
            (State::Preparing, _) => self.prepare(),
            (State::Locating, Event::Located(nodes)) => self.located(nodes),
            (State::Locating, Event::Refused) => self.finish(End::Abandoned),
            (State::Locating, _) => self.locate(),
            (State::Trimming(node), _) => self.queue(node),
            (State::Queued(node), Event::Listed(children)) => self.place(node, &children),
            (State::Held(_), Event::OwnNodeGone) => self.gone(),
            (State::Waiting(node), Event::Inherited) => self.hold(node),
            (State::Queued(node) | State::Waiting(node), _) => self.queue(node),
            (State::Held(node), Event::Downgrade) => self.downgrade(node),
            (State::Held(node), _) => self.hold(node),
            (State::Downgrading(replacement), outcome) => self.downgraded(replacement, outcome),
            (State::Withdrawing(_), Event::Deleted) => self.gone(),
            (State::Withdrawing(_), Event::Refused) => self.finish(End::Abandoned),
            (State::Withdrawing(names), Event::Skipped) => self.delete(names),
            (State::Withdrawing(names), _) => {
                self.first = None;
                self.delete(names)
            }
            (State::Finished(end), _) => Action::Finish(end),
        }
    }

    fn located(&mut self, mut nodes: Vec<Node>) -> Action {
        nodes.retain(|node| node.owner == self.session);
        // Each attempt sends one request, whose outcome is known once its node is found.
        let is_of_attempt =
            |node: &Node| Contender::parse(&node.name).is_some_and(|own| own.id == Some(self.id));
        self.unknown = self.unknown.saturating_sub(u32::from(nodes.iter().any(is_of_attempt)));
        if self.intent != Intent::Acquire && !nodes.is_empty() {
            return self.delete(nodes.into_iter().map(|node| node.name).collect());
        }
        // A node of another role is left from a downgrade whose outcome never became known.
        let role = self.predicate.role();
        nodes.retain(|node| Contender::parse(&node.name).is_some_and(|contender| contender.role == role));
        // The node created first has the best place. The list that follows shows the others.
        match nodes.into_iter().min_by_key(|node| node.zxid) {
            Some(node) => self.queue(node),
            None => self.none_left(),
        }
    }

    fn entered(&mut self, node: Node, sight: Sight) -> Action {
        if node.owner != self.session {
            // The server silently reconnected this client as another session, so this session is over.
            return self.finish(End::Lost);
        }
        match sight {
            _ if self.intent != Intent::Acquire => self.delete(vec![node.name]),
            Sight::Listed(children) => self.place(node, &children),
            Sight::Alone => self.hold_first(node),
            Sight::After(last) if number_of(&node).is_some_and(|number| number.is_next_after(last)) => {
                self.hold_first(node)
            }
            Sight::After(_) | Sight::Nothing => self.queue(node),
        }
    }

    /// Finds the contender's place among the children, and returns the action that follows from it.
    fn place(&mut self, node: Node, children: &[String]) -> Action {
        if self.intent != Intent::Acquire {
            return self.delete(vec![node.name]);
        }
        let contenders = turn::contenders(children, self.predicate.also_behind());
        let stale = turn::stale(&contenders, self.id, &node.name);
        if !stale.is_empty() {
            self.state = State::Trimming(node);
            return Action::Delete(stale);
        }
        let turn = Turn::of(&contenders, &node.name, &self.predicate);
        if !self.is_settled && turn != Turn::Missing {
            if let Some(other) = turn::other_recipe(&contenders, &node.name, &self.predicate) {
                return self.give_up(node, End::Mixed(other));
            }
            self.is_settled = true;
        }
        match turn {
            Turn::Missing => self.gone(),
            Turn::Unnumbered => self.give_up(node, End::Unnumbered),
            Turn::Head if contenders.len() == 1 => self.hold_first(node),
            Turn::Head => self.hold(node),
            Turn::Behind(ahead) => {
                self.state = State::Waiting(node);
                Action::Watch(ahead)
            }
        }
    }

    fn give_up(&mut self, node: Node, end: End) -> Action {
        self.intent = Intent::Withdraw(end);
        self.delete(vec![node.name])
    }

    /// Holds as the only contender in the queue.
    fn hold_first(&mut self, node: Node) -> Action {
        self.is_settled = true;
        self.first = number_of(&node);
        self.hold(node)
    }

    fn hold(&mut self, node: Node) -> Action {
        self.state = State::Held(node.clone());
        Action::Hold(node)
    }

    /// Replaces the writer's node with a reader's. The name changes but the sequence does not, so
    /// that the contenders behind stay behind (CURATOR-621).
    fn downgrade(&mut self, node: Node) -> Action {
        let Some(contender) = Contender::parse(&node.name) else {
            return self.hold(node);
        };
        // The transaction takes the next number.
        self.first = None;
        self.id = self.id.next_attempt();
        let new = format!("{}{}", self.id.node_prefix(Role::Read), contender.sequence);
        let replacement = Replacement { old: node, new };
        self.state = State::Downgrading(replacement.clone());
        Action::Downgrade(replacement)
    }

    /// Handles the outcome of a downgrade. The same transaction is sent again until its outcome is
    /// known: if it was applied before, the new name is taken, and no other contender uses that name.
    fn downgraded(&mut self, replacement: Replacement, outcome: Event) -> Action {
        let Replacement { old, new } = replacement.clone();
        match outcome {
            _ if self.intent != Intent::Acquire => self.delete(vec![new, old.name]),
            Event::Downgraded(name) => {
                self.predicate = Predicate::place(Role::Read);
                self.hold(Node { name, ..old })
            }
            Event::Refused => self.hold(old),
            // It ends, because the turn is gone with the node.
            Event::OwnNodeGone => {
                self.intent = Intent::Withdraw(End::Withdrawn);
                self.delete(vec![new, old.name])
            }
            _ => {
                // The reader's node may exist even if the next transaction is refused.
                self.unknown += 1;
                Action::Downgrade(replacement)
            }
        }
    }

    /// Goes on after the known nodes are gone. Others may exist if the outcome of a request is unknown.
    fn gone(&mut self) -> Action {
        match self.intent {
            Intent::Withdraw(_) if self.has_unknown_nodes() => self.locate(),
            _ => self.none_left(),
        }
    }

    /// Enters again, or ends, when no node of this acquisition is left.
    fn none_left(&mut self) -> Action {
        self.id = self.id.next_attempt();
        self.create()
    }

    fn create(&mut self) -> Action {
        match self.intent {
            Intent::Withdraw(end) => self.finish(end),
            Intent::Acquire => {
                self.first = None;
                self.state = State::Creating;
                Action::Enter(self.id)
            }
        }
    }

    fn prepare(&mut self) -> Action {
        match self.intent {
            Intent::Withdraw(_) => self.gone(),
            Intent::Acquire => {
                self.state = State::Preparing;
                Action::Prepare
            }
        }
    }

    fn locate(&mut self) -> Action {
        self.first = None;
        self.state = State::Locating;
        Action::Locate(self.id)
    }

    fn queue(&mut self, node: Node) -> Action {
        if self.intent != Intent::Acquire {
            return self.delete(vec![node.name]);
        }
        self.state = State::Queued(node);
        Action::List
    }

    fn delete(&mut self, names: Vec<String>) -> Action {
        self.state = State::Withdrawing(names.clone());
        Action::Delete(names)
    }

    fn finish(&mut self, end: End) -> Action {
        self.state = State::Finished(end);
        Action::Finish(end)
    }
}

fn number_of(node: &Node) -> Option<Sequence> {
    Contender::parse(&node.name).map(|contender| contender.sequence)
}
