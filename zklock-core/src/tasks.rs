//! The tasks of one client, on its own thread.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::interleaving;

/// Runs tasks on the thread of one client.
#[derive(Clone, Debug)]
pub(crate) struct Tasks(Arc<Thread>);

#[derive(Debug)]
struct Thread {
    tracker: TaskTracker,
    runtime: Handle,
    /// The time for which callers wait for requests.
    patience: Duration,
}

/// Something that the client has to finish before it is shut down.
pub(crate) type Unfinished = TaskTrackerToken;

impl Tasks {
    pub(crate) fn new(runtime: Handle, patience: Duration) -> Self {
        Self(Arc::new(Thread { tracker: TaskTracker::new(), runtime, patience }))
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    /// Returns the time for which callers wait for requests.
    pub(crate) fn patience(&self) -> Duration {
        self.0.patience
    }

    /// Runs a task. It is dropped at once if the thread has ended.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(task) = interleaving::take(task) {
            self.0.tracker.spawn_on(task, &self.0.runtime);
        }
    }

    /// Makes [`finished`](Self::finished) wait until the returned value is dropped.
    pub(crate) fn unfinished(&self) -> Unfinished {
        self.0.tracker.token()
    }

    /// Waits until there is no task any more, and nothing else that is unfinished.
    pub(crate) async fn finished(&self) {
        self.0.tracker.close();
        self.0.tracker.wait().await;
    }
}
