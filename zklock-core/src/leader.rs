//! One leader among candidates: elections, in the forms of Curator's `LeaderSelector` and `LeaderLatch`.
//!
//! * [`latch`]: leads from its election until it is closed.
//! * [`selector`]: leads while a callback runs.
//! * [`leadership`]: one term, which both have.
//! * [`office`]: what is run for, and how.

mod latch;
mod leadership;
mod office;
mod selector;

pub use self::latch::{LeaderChanges, LeaderLatch};
pub use self::leadership::Leadership;
pub use self::office::{Election, Policy};
pub use self::selector::{Ended, LeaderSelector, Verdict};
