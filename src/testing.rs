//! Tests code that takes locks, against a ZooKeeper server inside the test process.
//!
//! This module needs the feature `testing`. It uses only `global`, `zklock-testkit` and the public API of this
//! crate.
//!
//! [`#[zklock::test]`](macro@crate::test) gives each test its own server, which starts within milliseconds,
//! and a client that annotated functions use in place of the installed one. Tests share nothing and run in
//! parallel. [`TestServer`] causes events that a test cannot wait for: another client holds the lock, the
//! session expires, the connection breaks, a reply is lost.
//!
//! ```toml
//! [dev-dependencies]
//! zklock = { version = "0.1", features = ["testing"] }
//! ```
//!
//! ```
//! use zklock::testing::TestServer;
//! use zklock::{LockError, distributed_lock};
//!
//! #[distributed_lock(path = "/orders/{id}", no_wait)]
//! async fn settle(id: u64) -> Result<u64, LockError> {
//!     Ok(id)
//! }
//!
//! #[zklock::test]
//! async fn a_busy_order_is_reported(zk: TestServer) {
//!     let rival = zk.hold("/orders/7").await;
//!     assert!(settle(7).await.unwrap_err().is_contended());
//!     rival.release().await;
//!     assert_eq!(settle(7).await.unwrap(), 7);
//! }
//! # zklock::testing::Harness::new().run(async |zk: TestServer| {
//! #     let rival = zk.hold("/orders/7").await;
//! #     assert!(settle(7).await.unwrap_err().is_contended());
//! #     rival.release().await;
//! #     assert_eq!(settle(7).await.unwrap(), 7);
//! # });
//! ```
//!
//! Functions in this module fail by panicking, as tests do, with a message that names the cause.

mod harness;
mod queue;
mod rival;
mod server;

pub use harness::{FromTestServer, Harness};
pub use rival::Rival;
pub use server::{DroppedReply, TestServer};
