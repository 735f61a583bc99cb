//! An executor that polls any of its tasks next, and sometimes one that was not woken.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::support::random::Random;

/// The tasks of one thread.
pub(super) struct Executor {
    tasks: Vec<Task>,
    random: Random,
}

struct Task {
    future: Pin<Box<dyn Future<Output = ()>>>,
    woken: Arc<Woken>,
}

struct Woken {
    is_woken: AtomicBool,
    thread: Thread,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl Executor {
    /// Returns an executor for the present thread.
    pub(super) fn new(random: Random) -> Self {
        Self { tasks: Vec::new(), random }
    }

    pub(super) fn spawn(&mut self, task: impl Future<Output = ()> + 'static) {
        let woken = Woken { is_woken: AtomicBool::new(true), thread: thread::current() };
        self.tasks.push(Task { future: Box::pin(task), woken: Arc::new(woken) });
    }

    /// Runs all tasks to their ends.
    pub(super) fn run(mut self) {
        while !self.tasks.is_empty() {
            let next = self.random.below(self.tasks.len() as u64) as usize;
            let task = &mut self.tasks[next];
            if !task.woken.is_woken.swap(false, Ordering::SeqCst) && !self.random.once_in(16) {
                self.rest();
                continue;
            }
            let waker = Waker::from(task.woken.clone());
            if task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                drop(self.tasks.swap_remove(next));
            }
            // Another thread gets ahead of this one, wherever it stands.
            if self.random.once_in(8) {
                thread::sleep(Duration::from_micros(self.random.below(300)));
            }
        }
    }

    /// Waits for a wake-up if no task is woken.
    fn rest(&self) {
        if !self.tasks.iter().any(|task| task.woken.is_woken.load(Ordering::SeqCst)) {
            thread::park_timeout(Duration::from_millis(1));
        }
    }
}
