//! The tasks of one client, on its own thread.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::future::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::interleaving;

/// Runs tasks on the thread of one client.
#[derive(Clone, Debug)]
pub(crate) struct Tasks(Arc<Thread>);

#[derive(Debug)]
struct Thread {
    tracker: TaskTracker,
    runtime: Handle,
    /// Told of each panic of a task.
    panics: Notify,
    /// The process that has the thread.
    process: u32,
}

/// Runs a task to its end. Returns whether it panicked.
///
/// A bug, or a subscriber of `tracing` that panics, must cost no more than one session.
pub(crate) fn panics(task: impl Future<Output = ()>) -> impl Future<Output = bool> {
    AssertUnwindSafe(task).catch_unwind().map(|outcome| outcome.is_err())
}

impl Tasks {
    pub(crate) fn new(runtime: Handle) -> Self {
        let (tracker, panics, process) = (TaskTracker::new(), Notify::new(), std::process::id());
        Self(Arc::new(Thread { tracker, runtime, panics, process }))
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    /// Returns whether this process was forked from that of the thread, and so has neither the thread nor its connection.
    ///
    /// Callers ask before they take a lock, which the thread may have had at the fork.
    pub(crate) fn is_forked(&self) -> bool {
        self.0.process != std::process::id()
    }

    /// Runs a task. It is dropped at once if the thread has ended, or this process is a fork.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if self.is_forked() {
            return;
        }
        if let Some(task) = interleaving::take(task) {
            let thread = self.0.clone();
            // No `async` block, which would have room for the task twice.
            let watched = panics(task).map(|has_panicked| {
                if has_panicked {
                    Self(thread).note_panic();
                }
            });
            self.0.tracker.spawn_on(watched, &self.0.runtime);
        }
    }

    /// Takes note of a panic, which costs the session.
    pub(crate) fn note_panic(&self) {
        self.0.panics.notify_one();
    }

    /// Waits until a task has panicked.
    pub(crate) async fn panicked(&self) {
        self.0.panics.notified().await;
    }

    /// Waits until there is no task any more.
    pub(crate) async fn finished(&self) {
        self.0.tracker.close();
        self.0.tracker.wait().await;
    }
}
