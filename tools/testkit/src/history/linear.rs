//! A check of operations against a sequential model: whether there is one moment for each operation, between its
//! beginning and its end, such that the model allows the operations in the order of these moments (Herlihy and Wing,
//! *Linearizability*, 1990).
//!
//! [`check()`] finds such an order with configurations, each a state of the model and the set of operations that have
//! taken effect and not returned (Wing and Gong, 1993; Lowe, *Testing for linearizability*, 2017). It goes through the
//! beginnings and ends in the order of time, and lets operations take effect only when the end of one needs it. Its
//! cost grows with the number of operations at one time, and not with the length of the history.
//!
//! ```
//! use zklock_testkit::history::linear::{LockOp, Mutex, Operation, Span, check};
//! use zklock_testkit::history::{CallId, Process};
//!
//! let process = Process { number: 1, incarnation: 0 };
//! let call = |call| CallId { process, task: 0, call };
//! let acquire = |number, invoked, returned| Operation {
//!     call: call(number),
//!     op: LockOp::Acquire { who: call(number), token: None },
//!     invoked,
//!     span: Span::Certain { returned },
//! };
//! assert!(check(&Mutex, &[acquire(1, 0, 9)], 1_000).failure.is_none());
//! let failure = check(&Mutex, &[acquire(1, 0, 9), acquire(2, 5, 12)], 1_000).failure.unwrap();
//! assert_eq!((failure.explained, failure.stuck), (vec![0], 1));
//! ```

mod histories;
mod model;
mod operation;
#[cfg(test)]
mod property;
mod register;
mod search;
mod windows;

pub use histories::{Checked, all, locks, registers};
pub use model::{
    Fenced, LockOp, Model, Mutex, Permits, PermitsOp, Places, ReadWrite, ReadWriteOp, Reentrant,
};
pub use operation::{Operation, Span};
pub use register::{FencedRegister, RegisterOp, RegisterState};
pub use windows::{Failure, Report, Unchecked, check, windows};
