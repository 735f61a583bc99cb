//! The points between the steps of concurrent code at which a test runs other tasks, and the timers that it serves.
//!
//! In all other builds a point is empty, tasks run where they are spawned, and timers are those of the system.

#[cfg(test)]
mod schedule;

#[cfg(test)]
pub(crate) use self::schedule::{Schedule, Task, point, take, timer};

/// A point between two steps.
#[cfg(not(test))]
pub(crate) const fn point() {}

/// Returns a task, which a schedule would run.
#[cfg(not(test))]
pub(crate) const fn take<T>(task: T) -> Option<T> {
    Some(task)
}

/// Returns a timer, which a schedule would serve.
#[cfg(not(test))]
pub(crate) fn timer(wait: std::time::Duration) -> async_io::Timer {
    async_io::Timer::after(wait)
}
