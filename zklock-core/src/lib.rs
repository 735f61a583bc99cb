//! The locks and elections of zklock, over one ZooKeeper session at a time.
//!
//! This crate has no process-wide state. Applications depend on the facade crate `zklock`, which adds the
//! installed client and the attributes. Its documentation states what the locks guarantee, and what they do
//! not.

// docs.rs marks the items of a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod address;
mod change;
mod client;
mod connection;
mod contend;
mod deadline;
mod error;
mod event;
mod events;
mod guard;
mod guarded;
mod held;
mod hold;
mod last_start;
mod leader;
mod lease;
mod local_queue;
#[cfg(feature = "metrics")]
mod metrics;
mod mode;
mod multi;
mod mutex;
mod once;
mod participant;
mod path;
mod queue;
mod rwlock;
mod semaphore;
mod session;
mod survey;
mod tasks;
mod time;
mod token;

pub use client::config::Config;
pub use client::config::acl::Acl;
pub use client::settings::{Queueing, Release};
pub use client::{Client, Readiness};
#[cfg(feature = "sasl-gssapi")]
pub use connection::gssapi::Gssapi;
#[cfg(feature = "tls")]
pub use connection::tls::Tls;
pub use error::{Holder, LockError, LossReason, Permission, Phase, Refusal};
pub use event::{LockEvent, LockEventKind};
pub use events::Events;
pub use guard::Guard;
#[doc(hidden)]
pub use held::held;
pub use held::{Held, current};
#[doc(hidden)]
pub use hold::{inherit, inherit_blocking};
#[doc(hidden)]
pub use leader::Call;
pub use leader::{
    Election, Ended, Leader, LeaderChanges, LeaderLatch, LeaderSelector, Leadership, Policy, Verdict,
};
pub use lease::LeaseState;
pub use mode::{LockKind, Mode};
pub use multi::{Member, MultiGuard, MultiLock};
pub use mutex::{Mutex, MutexGuard};
pub use participant::{Participant, Standing};
pub use rwlock::{ReadGuard, Reading, RwLock, WriteGuard, Writing};
pub use semaphore::{Permits, Semaphore, SemaphoreGuard};
pub use session::{Health, Heartbeat};
pub use survey::{Survey, Surveyed, SurveyedLock};
pub use token::{FencingToken, InvalidToken};
