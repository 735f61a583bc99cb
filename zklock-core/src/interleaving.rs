//! The points between the steps of concurrent code at which a test runs other tasks.
//!
//! In all other builds a point is empty, and tasks run where they are spawned.

#[cfg(test)]
mod schedule;

#[cfg(test)]
pub(crate) use self::schedule::{Schedule, Task, point, take};

/// A point between two steps.
#[cfg(not(test))]
pub(crate) const fn point() {}

/// Returns a task, which a schedule would run.
#[cfg(not(test))]
pub(crate) const fn take<T>(task: T) -> Option<T> {
    Some(task)
}
