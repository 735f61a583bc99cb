//! Schedules, which tests choose.

use std::cell::Cell;
use std::pin::Pin;
use std::time::Duration;

use async_io::Timer;
use futures_util::FutureExt;

/// A task of a client.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The way in which a test runs tasks, all of them on one thread.
#[derive(Clone, Copy)]
pub(crate) struct Schedule {
    /// May run other tasks.
    pub(crate) point: fn(),
    pub(crate) spawn: fn(Task),
    /// Returns a timer, if it is not to be one of the system.
    pub(crate) timer: Option<fn(Duration) -> Task>,
}

thread_local! {
    static CURRENT: Cell<Option<Schedule>> = const { Cell::new(None) };
}

impl Schedule {
    /// Uses this schedule for all tasks of this thread until `test` returns.
    pub(crate) fn run(self, test: impl FnOnce()) {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                CURRENT.set(None);
            }
        }
        let _reset = Reset;
        CURRENT.set(Some(self));
        test();
    }
}

pub(crate) fn point() {
    if let Some(schedule) = CURRENT.get() {
        (schedule.point)();
    }
}

/// Spawns a task in this thread's schedule, or returns it if there is none.
pub(crate) fn take<T: Future<Output = ()> + Send + 'static>(task: T) -> Option<T> {
    let Some(schedule) = CURRENT.get() else { return Some(task) };
    (schedule.spawn)(Box::pin(task));
    None
}

/// Returns a timer of this thread's schedule, or one of the system if there is none.
pub(crate) fn timer(wait: Duration) -> Task {
    match CURRENT.get().and_then(|schedule| schedule.timer) {
        Some(timer) => timer(wait),
        None => Box::pin(Timer::after(wait).map(drop)),
    }
}
