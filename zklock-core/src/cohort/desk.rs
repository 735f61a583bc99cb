//! The part of a cohort's state that only its task and its contenders need, beside the rules.

use std::mem;
use std::task::{Context, Poll, Waker};

use crate::error::Holder;

/// The part of a cohort's state that only its task and its contenders need. It is under the mutex of the cohort.
#[derive(Default)]
pub(super) struct Desk {
    /// The contender of another client, or another node of this one, that the contender waits for.
    pub(super) front: Option<Box<Holder>>,
    is_rung: bool,
    /// The task that waits until the bell is rung.
    task: Option<Waker>,
}

impl Desk {
    /// Rings the bell, and returns the task to be woken, which must happen outside of the mutex.
    pub(super) fn ring(&mut self) -> Option<Waker> {
        self.is_rung = true;
        self.task.take()
    }

    /// Looks whether the bell was rung since the last time, on behalf of the only task that does so.
    pub(super) fn poll_rung(&mut self, context: &Context<'_>) -> Poll<()> {
        if mem::take(&mut self.is_rung) {
            return Poll::Ready(());
        }
        match &mut self.task {
            Some(task) => task.clone_from(context.waker()),
            None => self.task = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}
