//! The end of a task, and the ends of the calls that it attends to.

use std::sync::Arc;
use std::time::Instant;

use tokio::time::sleep_until;

use crate::client::settings::{LongWait, WaitWarning};

use super::calls::{Cohort, Local};

/// Fails the calls of a cohort whose task ends early, because the client's thread ended or a bug made the task panic. Later
/// calls start another task.
pub(super) struct Attendance<R: Local> {
    pub(super) cohort: Arc<Cohort<R>>,
    is_over: bool,
}

impl<R: Local> Attendance<R> {
    /// Must be called before the task's future is made, which may be dropped before its first poll.
    pub(super) fn new(cohort: Arc<Cohort<R>>) -> Self {
        Self { cohort, is_over: false }
    }

    pub(super) fn end(mut self) {
        self.is_over = true;
    }
}

impl<R: Local> Drop for Attendance<R> {
    fn drop(&mut self) {
        if !self.is_over {
            self.cohort.abandon();
        }
    }
}

impl<R: Local> Cohort<R> {
    /// Refuses all calls from now on.
    pub(super) fn close(self: &Arc<Self>) {
        let calls = self.rules().close();
        self.fail(calls, |cohort, _| cohort.closed());
        self.serve();
    }

    /// Fails all calls, and leaves what is held to its present holders.
    fn abandon(&self) {
        let (calls, leases) = self.rules().abandon();
        drop(leases);
        self.fail(calls, |cohort, _| cohort.closed());
    }

    /// Answers the calls whose time is over.
    pub(super) fn expire(self: &Arc<Self>) {
        let now = Instant::now();
        let calls = self.rules().expire(now);
        if !calls.is_empty() {
            self.fail(calls, Self::timeout);
            self.serve();
        }
    }

    /// Logs that the calls wait long, if it is time for that. Returns the next time.
    pub(super) fn log_long_wait(&self, warning: &mut WaitWarning) -> Option<Instant> {
        let since = self.rules().oldest()?.since;
        warning.check(since, || {
            let ((phase, holder), calls) = (self.in_the_way(), self.waiting());
            LongWait { path: self.path(), phase, holder, calls }
        })
    }

    /// Serves the calls that are left, which may need another node, or none.
    pub(super) fn serve(self: &Arc<Self>) {
        let served = self.rules().serve(Instant::now());
        self.deliver(served);
    }
}

/// Waits until the earlier one of these instants. `None` is never.
pub(super) async fn expiry(one: Option<Instant>, other: Option<Instant>) {
    match one.into_iter().chain(other).min() {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
