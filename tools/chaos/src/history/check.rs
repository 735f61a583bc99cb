//! The checks of a history. Each returns the violations that it finds, with the records that show them.
//!
//! | check | promise |
//! |---|---|
//! | `exclusion` | valid holds of one lock exclude each other, and valid permits are at most those of the semaphore |
//! | `tokens` | tokens rise in the order of the holds of one lock, and no two holds share one |
//! | `told` | a holder is told of its loss before the lock is handed on |
//! | `writes` | no guarded write is applied after the next grant, no resource refuses a valid holder, and no update is lost |
//! | `stuck` | a place in a lock that nobody holds can be taken, and a process gets locks while others do |
//! | `waits` | each call ends within its bound, and nothing is left at the end |
//! | `periods` | work starts at most once per period, and starts if it is tried again and again |

mod exclusion;
mod periods;
mod stuck;
mod tokens;
mod told;
mod waits;
mod writes;

use crate::history::{History, Violation};

pub(crate) fn all(history: &History, bounds: &Bounds) -> Vec<Violation> {
    let violations = [
        stuck::vacancy(history, bounds),
        stuck::progress(history, bounds),
        exclusion::exclusion(history),
        tokens::tokens(history),
        told::told(history, bounds),
        writes::writes(history),
        waits::waits(history, bounds),
        waits::left(history).into_iter().collect(),
        periods::periods(history, bounds),
        periods::idle(history, bounds),
    ];
    violations.into_iter().flatten().collect()
}

/// The bounds that the checks of times need. All of them are in nanoseconds, if nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The time by which a call may end later than its bound: that of a busy machine.
    pub(crate) slack: u64,
    /// The time for which a process may get no lock while others do.
    pub(crate) progress: u64,
    /// The time for which a fault has consequences after its end.
    pub(crate) recovery: u64,
    /// The time in which servers that do not stop end the session of a process that has died.
    pub(crate) expiry: u64,
    /// The parts of a million by which the clocks of the servers and of the records may differ.
    pub(crate) clock_ppm: u64,
}

impl Default for Bounds {
    /// Returns the documented bounds, with 3 s for the machine, 30 s for the consequences of faults, twice that for a
    /// process, and 7 s for the end of a session with a timeout of 5 s.
    fn default() -> Self {
        const SECOND: u64 = 1_000_000_000;
        Self {
            slack: 3 * SECOND,
            progress: 60 * SECOND,
            recovery: 30 * SECOND,
            expiry: 7 * SECOND,
            clock_ppm: 10_000,
        }
    }
}
