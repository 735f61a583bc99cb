//! The end of a task, and the ends of the calls that it attends to.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use tokio::time::sleep_until;

use crate::client::settings::{LongWait, WaitWarning};

use super::calls::Cohort;

/// Fails the calls of a cohort whose task ends early, because the client's thread ended or a bug made the task panic. Later
/// calls start another task.
pub(super) struct Attendance {
    pub(super) cohort: Arc<Cohort>,
    is_over: bool,
}

impl Attendance {
    /// Must be called before the task's future is made, which may be dropped before its first poll.
    fn new(cohort: Arc<Cohort>) -> Self {
        Self { cohort, is_over: false }
    }

    /// Performs the work of a line until nobody waits in it.
    pub(super) fn attend(cohort: Arc<Cohort>) -> BoxFuture<'static, ()> {
        let attendance = Self::new(cohort);
        Box::pin(async move {
            attendance.run().await;
            attendance.end();
        })
    }

    fn end(mut self) {
        self.is_over = true;
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        if !self.is_over {
            self.cohort.abandon();
        }
    }
}

impl Cohort {
    /// Refuses all calls from now on.
    pub(super) fn close(self: &Arc<Self>) {
        let calls = self.line().close();
        self.fail(calls, |cohort, _| cohort.closed());
        self.serve();
    }

    /// Fails all calls, and leaves what is held to its present holders.
    fn abandon(&self) {
        let (calls, leases) = self.line().abandon();
        drop(leases);
        self.fail(calls, |cohort, _| cohort.closed());
    }

    /// Answers the calls whose time is over.
    pub(super) fn expire(self: &Arc<Self>) {
        let now = Instant::now();
        let calls = self.line().expire(now);
        if !calls.is_empty() {
            self.fail(calls, Self::timeout);
            self.serve();
        }
    }

    /// Logs that the calls wait long, if it is time for that. Returns the next time.
    pub(super) fn log_long_wait(&self, warning: &mut WaitWarning) -> Option<Instant> {
        let since = self.line().oldest()?.since;
        warning.check(since, || {
            let ((phase, holder), calls) = (self.in_the_way(), self.waiting());
            LongWait { path: self.path(), phase, holder, calls }
        })
    }

    /// Serves the calls that are left, which may need another node, or none.
    pub(super) fn serve(self: &Arc<Self>) {
        let served = self.line().serve(Instant::now());
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
