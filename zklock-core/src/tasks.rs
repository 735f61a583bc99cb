//! The tasks of one client, on its own thread.

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Notify, mpsc};
use tokio_util::task::TaskTracker;

/// Runs tasks on the thread of one client.
#[derive(Clone, Debug)]
pub(crate) struct Tasks(Arc<Thread>);

#[derive(Debug)]
struct Thread {
    tracker: TaskTracker,
    spawned: mpsc::UnboundedSender<Task>,
    /// Told of each panic of a task.
    panics: Notify,
    /// The process that has the thread.
    process: u32,
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The tasks that their thread has not taken yet. It drops all tasks when it ends.
pub(crate) struct Spawned(mpsc::UnboundedReceiver<Task>);

/// Runs a task to its end. Returns whether it panicked.
///
/// A bug, or a subscriber of `tracing` that panics, must cost no more than one session.
pub(crate) fn panics(task: impl Future<Output = ()>) -> impl Future<Output = bool> {
    AssertUnwindSafe(task).catch_unwind().map(|outcome| outcome.is_err())
}

impl Tasks {
    pub(crate) fn new() -> (Self, Spawned) {
        let (tracker, panics, process) = (TaskTracker::new(), Notify::new(), std::process::id());
        let (spawned, taken) = mpsc::unbounded_channel();
        (Self(Arc::new(Thread { tracker, spawned, panics, process })), Spawned(taken))
    }

    /// Returns whether this process was forked from that of the thread, and so has neither the thread nor its connection.
    ///
    /// Callers ask before they take a lock, which the thread may have had at the fork.
    pub(crate) fn is_forked(&self) -> bool {
        self.0.process != std::process::id()
    }

    /// Runs a task. It is dropped at once if the thread has ended, or this process is a fork.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn_untracked(self.0.tracker.track_future(task));
    }

    /// Runs a task, whose end [`finished`](Self::finished) does not wait for.
    pub(crate) fn spawn_untracked(&self, task: impl Future<Output = ()> + Send + 'static) {
        if self.is_forked() {
            return;
        }
        let thread = self.0.clone();
        // No `async` block, which would have room for the task twice.
        let watched = panics(task).map(|has_panicked| {
            if has_panicked {
                Self(thread).note_panic();
            }
        });
        self.0.spawned.send(Box::pin(watched)).ok();
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

#[cfg(test)]
impl Tasks {
    /// Returns tasks that run on a thread until the test program ends.
    pub(crate) fn started() -> Self {
        let (tasks, spawned) = Self::new();
        std::thread::spawn(|| spawned.run_until(std::future::pending()));
        tasks
    }
}

impl Spawned {
    /// Runs the tasks on this thread until `main` ends.
    pub(crate) fn run_until(mut self, main: impl Future<Output = ()>) {
        async_io::block_on(async move {
            let (mut tasks, mut main) = (FuturesUnordered::new(), pin!(main));
            loop {
                tokio::select! {
                    biased;
                    () = &mut main => return,
                    Some(task) = self.0.recv() => tasks.push(task),
                    Some(()) = tasks.next() => {}
                }
            }
        });
    }
}
