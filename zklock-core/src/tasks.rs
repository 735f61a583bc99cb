//! The tasks of one client, on its own thread, and work that blocks.

use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use async_executor::Executor;
use futures_util::future::FutureExt;
use pin_project_lite::pin_project;
use tokio::sync::{Notify, oneshot};
use tokio_util::task::TaskTracker;

use crate::change::Mutex;

/// Runs tasks on the thread of one client.
#[derive(Clone)]
pub(crate) struct Tasks(Arc<Thread>);

struct Thread {
    tracker: TaskTracker,
    /// `None` once the thread takes no tasks any more.
    executor: Mutex<Option<Arc<Executor<'static>>>>,
    /// Told of each panic of a task.
    panics: Notify,
    /// Detects that this process is a fork of the one that has the thread.
    fork: forkguard::Guard,
}

pin_project! {
    /// A task, whose end never panics, so that those of the others follow. Their callers wait for them.
    struct Task<F> {
        #[pin]
        task: Option<F>,
    }

    impl<F> PinnedDrop for Task<F> {
        fn drop(this: Pin<&mut Self>) {
            catch_unwind(AssertUnwindSafe(|| this.project().task.set(None))).ok();
        }
    }
}

impl<F: Future<Output = ()>> Future for Task<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.project().task.as_pin_mut().map_or(Poll::Ready(()), |task| task.poll(context))
    }
}

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
        let (executor, fork) = (Mutex::new(Some(Arc::default())), forkguard::new());
        let (tracker, panics) = Default::default();
        Self(Arc::new(Thread { tracker, executor, panics, fork }))
    }

    /// Runs the tasks on this thread until `main` ends, and then drops those that are left.
    pub(crate) fn run_until(&self, main: impl Future<Output = ()> + Send + 'static) {
        let executor = self.0.executor.lock().clone();
        if let Some(executor) = &executor {
            // A task is polled only if it is woken.
            let main = executor.spawn(panics(main));
            async_io::block_on(executor.run(main));
        }
        // The tasks are dropped with the last handle, behind the mutex.
        let _last = self.0.executor.lock().take();
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
        let task = Task { task: Some(watched) };
        let executor = self.0.executor.lock();
        if let Some(executor) = &*executor {
            executor.spawn(task).detach();
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

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    impl Tasks {
        /// Returns tasks that run on a thread until the test program ends.
        pub(crate) fn started() -> Self {
            let tasks = Self::new();
            thread::spawn({
                let tasks = tasks.clone();
                move || tasks.run_until(pending())
            });
            tasks
        }
    }

    struct Panic;

    impl Drop for Panic {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }

    #[test]
    fn tasks_that_panic_at_their_end_keep_no_other_one_from_its_end() {
        let tasks = Tasks::new();
        let spawn = |kept: Box<dyn Send>| {
            tasks.spawn(async move {
                pending::<()>().await;
                drop(kept);
            });
        };
        let (before, ended_before) = oneshot::channel::<()>();
        let (after, ended_after) = oneshot::channel::<()>();
        for kept in [Box::new(before) as Box<dyn Send>, Box::new(Panic), Box::new(Panic), Box::new(after)] {
            spawn(kept);
        }
        tasks.run_until(ready(()));
        for mut ended in [ended_before, ended_after] {
            assert_eq!(ended.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        }
    }
}
