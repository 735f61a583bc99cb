//! The state of a cohort under its mutex: the rules, and the desk of the task.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::error::Holder;

/// The state of a cohort under its mutex.
pub(super) struct State<R> {
    rules: R,
    /// `None` while there is no task. A lock that is held for long has none.
    pub(super) desk: Option<Arc<Desk>>,
}

/// The rules of a cohort, which nobody else uses meanwhile.
pub(super) struct Locked<'a, R>(MutexGuard<'a, State<R>>);

/// The state of a cohort that only its task and its contenders need.
#[derive(Default)]
pub(super) struct Desk {
    /// The contender of another client, or another node of this one, that the contender waits for.
    front: Mutex<Option<Box<Holder>>>,
    /// Wakes the task.
    pub(super) bell: Notify,
}

impl<R> State<R> {
    pub(super) fn new(rules: R) -> Self {
        Self { rules, desk: None }
    }
}

impl<'a, R> Locked<'a, R> {
    pub(super) fn new(state: MutexGuard<'a, State<R>>) -> Self {
        Self(state)
    }
}

impl<R> Deref for Locked<'_, R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.0.rules
    }
}

impl<R> DerefMut for Locked<'_, R> {
    fn deref_mut(&mut self) -> &mut R {
        &mut self.0.rules
    }
}

impl Desk {
    pub(super) fn front(&self) -> MutexGuard<'_, Option<Box<Holder>>> {
        self.front.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
