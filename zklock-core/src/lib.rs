//! The locks of zklock, over one ZooKeeper session at a time.
//!
//! This crate has no process-wide state; the facade `zklock` adds the installed client and the attributes,
//! and is what applications depend on. See there for what is promised, and what is not.

mod acquire;
mod client;
mod error;
mod hold;
mod lease;
mod mutex;
mod path;
mod queue;
mod session;

pub use client::Client;
pub use client::config::Config;
pub use error::{LockError, Phase, Refusal};
pub use hold::inherit;
pub use lease::{FencingToken, LeaseState, LossReason};
pub use mutex::{Mutex, MutexGuard, Participant};
pub use session::Health;
pub use session::ops::Acl;
