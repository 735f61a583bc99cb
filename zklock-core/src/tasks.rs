//! The tasks of one client, on its own thread, and work that blocks.

use std::fs::File;
use std::io::Read;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::thread;

use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Notify, oneshot};
use tokio_util::task::TaskTracker;

use crate::change::Mutex;

/// Runs tasks on the thread of one client.
#[derive(Clone)]
pub(crate) struct Tasks(Arc<Thread>);

struct Thread {
    tracker: TaskTracker,
    /// The tasks that the thread has not taken yet. `None` once it takes none any more.
    spawned: Mutex<Option<Vec<Task>>>,
    /// Told when there are some.
    arrived: Notify,
    /// Told of each panic of a task.
    panics: Notify,
    /// Detects that this process is a fork of the one that has the thread.
    fork: forkguard::Guard,
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs a task to its end. Returns whether it panicked.
///
/// A bug, or a subscriber of `tracing` that panics, must cost no more than one session.
pub(crate) fn panics(task: impl Future<Output = ()>) -> impl Future<Output = bool> {
    AssertUnwindSafe(task).catch_unwind().map(|outcome| outcome.is_err())
}

/// Does work that may block for long, on a thread of its own. Returns `None` if there is no thread, or if the work panics.
///
/// The thread goes on if the future is dropped. The callers bound the number of threads.
pub(crate) fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Option<T>> + Send {
    let (tell, told) = oneshot::channel();
    let thread = thread::Builder::new().name("zklock-blocking".to_owned());
    if let Err(error) = thread.spawn(move || tell.send(work()).ok()) {
        tracing::debug!(%error, "no thread for blocking work");
    }
    told.map(Result::ok)
}

/// Reads a file of credentials or certificates, which has at most this many bytes. Blocks the thread for as long as the file
/// takes.
pub(crate) fn read_file(file: &Path, longest: u64) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(longest + 1).read_to_string(&mut text));
    let reason = match read {
        Ok(length) if length as u64 <= longest => return Ok(text),
        Ok(_) => format!("it is longer than {longest} bytes"),
        Err(error) => error.to_string(),
    };
    Err(format!("cannot read {}: {reason}", file.display()))
}

impl Tasks {
    pub(crate) fn new() -> Self {
        let (spawned, fork) = (Mutex::new(Some(Vec::new())), forkguard::new());
        let (tracker, arrived, panics) = Default::default();
        Self(Arc::new(Thread { tracker, spawned, arrived, panics, fork }))
    }

    /// Runs the tasks on this thread until `main` ends, and then drops those that are left.
    pub(crate) fn run_until(&self, main: impl Future<Output = ()>) {
        let mut tasks = FuturesUnordered::new();
        async_io::block_on(async {
            let mut main = pin!(panics(main));
            loop {
                tokio::select! {
                    biased;
                    _ = &mut main => return,
                    () = self.0.arrived.notified() => {
                        let arrived = self.0.spawned.lock().as_mut().map(mem::take);
                        tasks.extend(arrived.into_iter().flatten());
                    }
                    Some(()) = tasks.next() => {}
                }
            }
        });
        let untaken = self.0.spawned.lock().take().unwrap_or_default();
        for task in tasks.into_iter().chain(untaken) {
            // A panic must not keep the others from their ends, which their callers wait for.
            catch_unwind(AssertUnwindSafe(|| drop(task))).ok();
        }
    }

    /// Returns whether this process was forked from that of the thread, and so has neither the thread nor its connection.
    ///
    /// Callers ask before they take a lock, which the thread may have had at the fork. It costs a load of a counter, which a
    /// handler of `pthread_atfork` increments.
    pub(crate) fn is_forked(&self) -> bool {
        // The guard itself tells of each fork once, and this asks it many times.
        self.0.fork.clone().detected_fork()
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
        let task: Task = Box::pin(watched);
        match &mut *self.0.spawned.lock() {
            Some(spawned) => spawned.push(task),
            // The task is dropped behind the mutex.
            None => return,
        }
        self.0.arrived.notify_one();
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
mod tests {
    use super::*;

    impl Tasks {
        /// Returns tasks that run on a thread until the test program ends.
        pub(crate) fn started() -> Self {
            let tasks = Self::new();
            thread::spawn({
                let tasks = tasks.clone();
                move || tasks.run_until(std::future::pending())
            });
            tasks
        }
    }
}
