//! The queue protocol of a lock, as pure functions and one state machine.
//!
//! A lock is a znode; its contenders are ephemeral sequential children, and the one with the lowest
//! sequence holds the lock. Each of the others watches the one right in front of it. The names and the
//! order are those of Apache Curator's `InterProcessMutex`, so that Java and Rust contend at one path.
//!
//! * [`claim`]: what a contender wants, and whom it has to wait for.
//! * [`contender`]: the grammar of the children's names, and their order.
//! * [`turn`]: whose turn it is, given the children.
//! * [`acquisition`]: what to do next, given what happened.
//!
//! # Invariants
//!
//! 1. Nothing here knows sockets, clocks, tasks or randomness: events come in, actions go out. Every
//!    interleaving can therefore be simulated, and is, in `sim`.
//! 2. A contender is known by its uuid and not by its path: the path is not known before the server's
//!    reply, and that reply can be lost.
//! 3. Acquiring, recovering from an unknown outcome, cancelling and releasing are one machine.

pub(crate) mod acquisition;
pub(crate) mod claim;
pub(crate) mod contender;
#[cfg(test)]
mod property;
#[cfg(test)]
mod sim;
pub(crate) mod turn;
