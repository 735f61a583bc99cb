//! Declarative distributed locks for Rust on Apache ZooKeeper.
//!
//! Put [`#[distributed_lock]`](macro@distributed_lock) on a function, async or not, install one [`Client`] at
//! start-up, and the function runs in one place of the whole fleet at a time:
//!
//! ```no_run
//! use zklock::{Config, LockError, distributed_lock};
//!
//! #[distributed_lock(path = "/orders/{id}", wait = "5s")]
//! async fn settle(id: u64) -> Result<(), LockError> {
//!     // One holder per order, in all processes.
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
//! Readers that run together, and several locks at once, all or none, are arguments of the attribute:
//!
//! ```no_run
//! use zklock::{LockError, distributed_lock};
//!
//! #[distributed_lock(path = "/prices/{region}", mode = read)]
//! async fn quote(region: &str) -> Result<u64, LockError> {
//!     // Any number of readers, as long as nobody writes: `mode = write`.
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
//! Work that one replica of the fleet is to do goes into a function under
//! [`#[leader_only]`](macro@leader_only):
//!
//! ```no_run
//! use zklock::leader_only;
//!
//! #[leader_only]
//! async fn sweep() {
//!     // The leader runs this; on the others it returns at once.
//! }
//! ```
//!
//! By hand there are also semaphores and locks that are not reentrant: see [`Client`].
//!
//! # What is promised
//!
//! One holder at a time, as long as clocks run at the same rate within 1 %, the process is not paused longer
//! than the rest of its lease between a check and an effect, and ZooKeeper keeps its own promises. A holder
//! that loses the lock is told, and its body is cancelled, **before** the server may hand the lock on. For
//! anything stronger, pass the [fencing token](FencingToken) to the resource, or write to ZooKeeper through
//! the [guard](MutexGuard::set_data): that is airtight.
//!
//! # What is not
//!
//! * An effect that was under way when the process was paused can arrive after another holder's. Only the
//!   resource can refuse it, by the token.
//! * A body is cancelled at an await. Code that blocks a thread without awaiting is not interrupted, and neither is
//!   a function that is not async, or under `on_lost = finish`: it is told of the loss when it has ended.
//! * A process that ends without [`shutdown`] leaves its locks taken until its session times out.
//! * ZooKeeper 3.5.3 or newer is needed, for container nodes.
//!
//! # Reentrancy
//!
//! What is held follows the logical call: inside an annotated function, [`Mutex::run`] or
//! [`MutexGuard::scope`], the same lock is entered again without a request. [`spawn`] takes it along to a
//! task; `tokio::spawn` does not. Siblings under one hold, such as the sides of a `join!`, exclude each other,
//! unless both only read. A reader inside of a writer enters its lock; a writer inside of a reader would wait for
//! itself, and is told so by [`LockError::Upgrade`].

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod global;
mod leader;
#[cfg(feature = "testing")]
pub mod testing;

pub use global::{client, install, install_as, named_client, readiness, scope, shutdown, spawn};
pub use leader::{is_leader, leader};
pub use zklock_core::{
    Acl, Client, Config, Election, Ended, Events, FencingToken, Guard, Health, Leader, LeaderChanges,
    LeaderLatch, LeaderSelector, Leadership, LeaseState, LockError, LockEvent, LockEventKind, LossReason,
    Member, Mode, MultiGuard, MultiLock, Mutex, MutexGuard, Participant, Permits, Phase, Policy, ReadGuard,
    Readiness, Reading, Refusal, RwLock, Semaphore, SemaphoreGuard, Standing, Verdict, WriteGuard, Writing,
};
#[cfg(feature = "testing")]
pub use zklock_macros::test;
pub use zklock_macros::{distributed_lock, leader_only};
