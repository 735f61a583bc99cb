//! The queue protocol of a lock, as pure functions and one state machine.
//!
//! A lock is a znode. Its contenders are ephemeral sequential children, and the one with the lowest
//! sequence holds the lock. Each of the others watches the one right in front of it. The names and
//! the order are those of Apache Curator's `InterProcessMutex`, so that Java and Rust contend at
//! one path. Uses only `mode`.
//!
//! * [`predicate`]: when the turn of a contender comes: which ones it waits for.
//! * [`contender`]: the grammar of the children's names, and their order.
//! * [`turn`]: the turn of a contender, given the children.
//! * [`acquisition`]: the state machine, which answers each event with the next action.
//!
//! # Invariants
//!
//! 1. The module has no sockets, clocks, tasks or randomness: events come in, actions go out. Every
//!    interleaving can therefore be simulated, and is, in `sim`.
//! 2. A contender is identified by its uuid rather than by its path: the path is unknown until the server
//!    replies, and the reply can be lost.
//! 3. One state machine covers acquiring, recovering from an unknown outcome, cancelling and releasing.

pub(crate) mod acquisition;
pub(crate) mod contender;
pub(crate) mod predicate;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;
pub(crate) mod turn;
