//! The checks of a history. Each returns the violations that it finds, with the records that show them.
//!
//! | check | promise |
//! |---|---|
//! | [`exclusion()`] | valid holds of one lock exclude each other, and valid permits are at most those of the semaphore |
//! | [`tokens()`] | tokens rise in the order of the holds of one lock, and no two holds share one |
//! | [`together()`], [`reentrant()`] | the members of a multi-lock are granted together; inner holds belong to outer ones |
//! | [`writes()`] | no guarded write is applied after the next grant; a fenced resource accepts no older token |
//! | [`state()`] | no update is lost, no state is torn, and nothing changes under a hold that excludes others |
//! | [`progress()`] | a process gets locks while others do |
//! | [`waits()`], [`turns()`] | calls end within their bounds, no call starves, and no process keeps a lock for too long |
//! | [`vacancy()`] | a place in a lock that nobody holds can be taken |
//! | [`told()`] | a holder is told of its loss before the lock is handed on |
//! | [`outcomes()`] | each call has exactly one outcome |
//! | [`periods()`] | work starts at most once per period |
//! | [`left()`] | nothing is left at the end |

mod bounds;
mod exclusion;
mod expiry;
mod explanations;
mod members;
mod outcomes;
mod periods;
mod progress;
mod resources;
mod stability;
mod state;
mod succession;
mod tokens;
mod told;
mod turns;
mod updates;
mod vacancy;
mod waits;
mod writes;

pub use bounds::Bounds;
pub use exclusion::exclusion;
pub use members::{reentrant, together};
pub use outcomes::{left, outcomes};
pub use periods::periods;
pub use progress::progress;
pub use state::state;
pub use tokens::tokens;
pub use told::{Margin, margins, told};
pub use turns::turns;
pub use vacancy::vacancy;
pub use waits::{longest_wait, waits};
pub use writes::writes;

use super::merged::History;
use super::violation::Findings;

/// Makes all checks.
pub fn all(history: &History, bounds: &Bounds) -> Findings {
    let judged = [
        state(history),
        turns(history, bounds),
        vacancy(history, bounds),
        progress(history, bounds),
        left(history),
    ];
    let violations = [
        exclusion(history),
        tokens(history),
        together(history),
        reentrant(history),
        writes(history),
        waits(history, bounds),
        told(history, bounds),
        outcomes(history),
        periods(history, bounds),
    ];
    let mut findings = Findings::default();
    findings.violations.extend(violations.into_iter().flatten());
    for Findings { violations, excused } in judged {
        findings.violations.extend(violations);
        findings.excused.extend(excused);
    }
    findings
}
