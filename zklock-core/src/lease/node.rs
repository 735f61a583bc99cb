//! The node of a held lock, which a downgrade replaces with another one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::queue::contender::Name;

/// The node of a held lock.
#[derive(Debug)]
pub(super) struct LockNode(Mutex<State>);

#[derive(Debug)]
enum State {
    Present(Name),
    /// A request is under way that replaces this node.
    BeingReplaced(Name),
}

impl LockNode {
    pub(super) fn new(name: Name) -> Self {
        Self(Mutex::new(State::Present(name)))
    }

    /// Returns the name, unless the node is being replaced.
    pub(super) fn present(&self) -> Option<Name> {
        match &*self.state() {
            State::Present(name) => Some(name.clone()),
            State::BeingReplaced(_) => None,
        }
    }

    /// Returns the name of the last node that is known to have existed.
    pub(super) fn last(&self) -> Name {
        self.state().name().clone()
    }

    pub(super) fn begin_replacement(&self) {
        let mut state = self.state();
        *state = State::BeingReplaced(state.name().clone());
    }

    /// Takes note that the node with this name is present, and no replacement is under way any more.
    pub(super) fn set(&self, name: Name) {
        *self.state() = State::Present(name);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn name(&self) -> &Name {
        match self {
            Self::Present(name) | Self::BeingReplaced(name) => name,
        }
    }
}
