//! The bounds of the checks of times.

/// The bounds that the checks of times need. All of them are in nanoseconds, if nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The time by which a call may end later than its bound: that of a busy machine.
    pub slack: u64,
    /// The longest wait of any call, without the time for which its process was stopped.
    pub longest_wait: u64,
    /// The time for which a process may get no lock while others do.
    pub progress: u64,
    /// The number of grants in one turn, while others wait.
    pub turn_grants: u64,
    /// The length of one turn, without its last hold.
    pub turn: u64,
    /// The time after which a waiting call is known to the process that has the lock.
    pub notice: u64,
    /// The time for which a fault has consequences after its end. Turns are not checked in it.
    pub recovery: u64,
    /// The time in which servers that do not stop end the session of a process that has died.
    pub expiry: u64,
    /// The parts of a million by which the clocks of the servers and of the records may differ.
    pub clock_ppm: u64,
}

impl Default for Bounds {
    /// Returns the documented bounds, with a second for the machine, 30 s for the consequences of faults, twice that
    /// for a process, and 7 s for the end of a session with a timeout of 5 s.
    fn default() -> Self {
        const SECOND: u64 = 1_000_000_000;
        Self {
            slack: SECOND,
            longest_wait: 120 * SECOND,
            progress: 60 * SECOND,
            turn_grants: 64,
            turn: SECOND / 20,
            notice: SECOND,
            recovery: 30 * SECOND,
            expiry: 7 * SECOND,
            clock_ppm: 10_000,
        }
    }
}
