//! The choices of a schedule, and its elements.

use std::time::Duration;

use super::fault::{Fault, Kind};

/// The choices that a schedule follows from.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) length: Duration,
    pub(crate) servers: usize,
    pub(crate) processes: usize,
    /// The kinds of faults to draw from, none for a run without faults.
    pub(crate) kinds: Vec<Kind>,
}

/// A fault, and the time from the beginning of the run at which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) at: Duration,
    pub(crate) fault: Fault,
}
