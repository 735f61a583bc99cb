//! Declarative distributed locks for Rust on Apache ZooKeeper.
//!
//! Put [`#[distributed_lock]`](macro@distributed_lock) on a function, async or not, and install one
//! [`Client`] at start-up. At most one call of that function then runs at a time across the whole fleet:
//!
//! ```no_run
//! use zklock::{Config, LockError, distributed_lock};
//!
//! #[distributed_lock(path = "/orders/{id}", wait = "5s")]
//! async fn settle(id: u64) -> Result<(), LockError> {
//!     // One holder per order, across all processes.
//!     Ok(())
//! }
//!
//! # async fn main_() -> Result<(), Box<dyn std::error::Error>> {
//! zklock::install(Config::from_env()?.namespace("/billing").connect().await?)?;
//! settle(7).await?;
//! zklock::shutdown(std::time::Duration::from_secs(20)).await;
//! # Ok(())
//! # }
//! ```
//!
//! The attribute also takes one side of a read-write lock, or several locks, all or none:
//!
//! ```no_run
//! use zklock::{LockError, distributed_lock};
//!
//! #[distributed_lock(path = "/prices/{region}", mode = read)]
//! async fn quote(region: &str) -> Result<u64, LockError> {
//!     // Any number of readers, as long as no writer (`mode = write`) runs.
//!     Ok(7)
//! }
//!
//! #[distributed_lock(path = ["/accounts/{from}", "/accounts/{to}"])]
//! async fn transfer(from: u64, to: u64) -> Result<(), LockError> {
//!     // One holder for each of the two accounts.
//!     Ok(())
//! }
//! ```
//!
//! A function under [`#[leader_only]`](macro@leader_only) runs on one replica of the fleet:
//!
//! ```no_run
//! use zklock::leader_only;
//!
//! #[leader_only]
//! async fn sweep() {
//!     // The leader runs this; on other replicas it returns at once.
//! }
//! ```
//!
//! [`Client`] offers the same locks and elections without attributes, and also mutexes that are not reentrant.
//!
//! # Guide
//!
//! The [`guide`] explains [how to choose a lock](guide::choosing), [timeouts](guide::timeouts),
//! [cancellation](guide::cancellation), [fencing](guide::fencing), [testing](guide::testing),
//! [migration](guide::migration) from Curator, ShedLock, Redis locks and kazoo, the operation in
//! [Kubernetes](guide::kubernetes), [metrics](guide::metrics), [tracing](guide::tracing), all
//! [guarantees](guide::guarantees), [cost and fairness](guide::costs), [one whole service](guide::service),
//! the [configuration](guide::configuration), [security](guide::security), and [stores](guide::stores) that
//! refuse an old token.
//!
//! # The promise
//!
//! One holder at a time, as long as clocks run at the same rate within 1 %, ZooKeeper keeps its own promises, and
//! the process is not paused for too long between a check of the lock and the effect that follows it. The limit is
//! the time for which the last answer of the servers proves the hold: 22.2 s with default settings. A holder that
//! loses the lock is told, and its body is cancelled, **before** the server may hand the lock on. For anything
//! stronger, pass the [fencing token](FencingToken) to the resource, or write to ZooKeeper through the
//! [guard](Held::set_data): neither depends on time.
//!
//! # Not guaranteed
//!
//! * A request that was in flight when its process was paused can reach a resource after the next holder's
//!   requests. Only the resource can refuse it, by checking the fencing token.
//! * Cancellation happens at an await. Code that blocks its thread is not interrupted. A function that is not
//!   async, or has `on_lost = finish`, is not interrupted either: it returns the loss after its body has ended.
//! * After an outsider deletes a holder's node or ends its session, the next holder may start a moment before the
//!   previous one is told.
//! * A process that ends without [`shutdown`] leaves its locks taken until its session times out.
//! * ZooKeeper 3.5.3 or newer is required, because lock nodes are created as containers.
//!
//! # Reentrancy
//!
//! Reentrancy follows the logical call. Inside an annotated function, [`Mutex::run`] or
//! [`MutexGuard::scope`], the same lock is entered again without a request. A semaphore is not reentrant.
//! [`spawn`] carries the held locks into a new task, and [`spawn_blocking`] into a thread for blocking work;
//! `tokio::spawn` does not. Siblings under one hold, such as the branches of a `join!`, exclude each other,
//! unless both only read. A reader inside a writer enters the lock again. A writer inside a reader would wait
//! for itself, and fails at once with [`LockError::Upgrade`].
//!
//! [`current`] returns the innermost lock or term that the call holds, for guarded writes and reads in functions that
//! rely on a lock of their callers. [`assert_held!`] and [`assert_not_held!`] check that they are called with it.
//!
//! # Feature flags
//!
//! * `metrics`: each client hands counts of its locks, leaders and sessions to the recorder of the crate `metrics`; see
//!   [`guide::metrics`].
//! * `sasl-digest` and `sasl-gssapi`: logins by SASL, with DIGEST-MD5 and with Kerberos; see [`guide::security`].
//! * `serde`: [`Config`] and the types of its settings implement `Deserialize`, and [`FencingToken`] `Serialize`
//!   and `Deserialize`.
//! * `testing`: `#[zklock::test]` and the module `zklock::testing` give each test a ZooKeeper server of its
//!   own.
//! * `tls`: encrypted connections, with certificates; see [`guide::security`].
//!
//! None of them is enabled by default.

// docs.rs marks the items of a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod assertions;
mod global;
// Its examples need the server of `testing`.
#[cfg(all(doc, any(not(doctest), feature = "testing")))]
#[cfg_attr(docsrs, doc(auto_cfg = false))]
#[cfg_attr(not(feature = "testing"), allow(rustdoc::broken_intra_doc_links))]
pub mod guide;
mod locks;
#[cfg(feature = "testing")]
pub mod testing;

pub use global::{
    Scope, client, install, install_as, named_client, readiness, scope, shutdown, spawn, spawn_blocking,
};
pub use locks::{election, is_leader, leader, multi, mutex, rwlock, semaphore};
#[cfg(feature = "sasl-gssapi")]
pub use zklock_core::Gssapi;
#[cfg(feature = "tls")]
pub use zklock_core::Tls;
pub use zklock_core::{
    Acl, Client, Config, Election, Ended, Events, FencingToken, Guard, Health, Heartbeat, Held, Holder,
    InvalidToken, Leader, LeaderChanges, LeaderLatch, LeaderSelector, Leadership, LeaseState, LockError,
    LockEvent, LockEventKind, LockKind, LossReason, Member, Mode, MultiGuard, MultiLock, Mutex, MutexGuard,
    Participant, Permission, Permits, Phase, Policy, Queueing, ReadGuard, Readiness, Reading, Refusal,
    Release, RwLock, Semaphore, SemaphoreGuard, Standing, Survey, Surveyed, SurveyedLock, Verdict,
    WriteGuard, Writing, current,
};
#[cfg(feature = "testing")]
pub use zklock_macros::test;
pub use zklock_macros::{distributed_lock, leader_only};

/// Runs the examples of the attributes. Their own crate cannot run them, because it does not depend on this one.
#[cfg(doctest)]
mod examples_of_the_attributes {
    #[doc = include_str!("../zklock-macros/doc/distributed_lock.md")]
    mod distributed_lock {}
    #[doc = include_str!("../zklock-macros/doc/leader_only.md")]
    mod leader_only {}
    #[cfg(feature = "testing")]
    #[doc = include_str!("../zklock-macros/doc/test.md")]
    mod test {}
}

/// Compiles the examples of the README, and runs those that need no server.
#[cfg(all(doctest, feature = "serde", feature = "testing"))]
#[doc = include_str!("../README.md")]
mod examples_of_the_readme {}
