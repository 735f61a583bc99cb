//! ZooKeeper servers to test against: embedded, real, and behind a proxy that injects faults.
//!
//! | | what | for |
//! |---|---|---|
//! | [`EmbeddedServer`] | a server inside this process, over a deterministic [`model`] | tests without Java |
//! | [`Proxy`] | loses, delays and corrupts frames in front of any server | faults at exact points |
//! | [`wire`], [`Conversation`] | the protocol's records, and one connection | tests of the protocol itself |
//!
//! ```
//! let server = zklock_testkit::EmbeddedServer::start()?;
//! println!("connect to {}", server.connect_string());
//! # Ok::<(), zklock_testkit::Error>(())
//! ```
//!
//! The command `zklock serve` runs the embedded server alone.
//!
//! # Real servers
//!
//! These need the feature `real`:
//!
//! | | what | for |
//! |---|---|---|
//! | `ZooKeeper`, `Ensemble` | real servers as child processes | tests against the real thing |
//! | `Kdc` | a realm of Kerberos, as a child process | logins by GSSAPI |
//! | `Installation` and others | the Java classes and the programs that they need | finding or installing them |
//!
//! A real server listens on a free loopback port and keeps its data in a temporary directory. It ends with the process
//! that started it, however that process ends: a shell between the two holds the read end of a pipe, and
//! kills the server and removes its directory when the pipe closes. Dropping `ZooKeeper` closes the pipe,
//! and so does the kernel when the owner is killed. This requires Linux, for `/proc` and for loopback addresses other than
//! 127.0.0.1, and a POSIX `/bin/sh`.
//!
//! With the feature `tls`, a real server also has a port with TLS: see `ZooKeeperBuilder::tls` and `Authority`, which
//! makes certificates for tests. `ZooKeeperBuilder::user`, `ZooKeeperBuilder::kerberos` and `ZooKeeperBuilder::superuser`
//! do not need it.

// docs.rs marks the items of a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod conversation;
#[allow(missing_docs, reason = "the names of most fields say all")]
mod error;
mod eventually;
#[doc(hidden)]
pub mod four_letter;
mod listener;
pub mod model;
mod proxy;
#[cfg(feature = "real")]
mod real;
mod server;
pub mod wire;

pub use conversation::Conversation;
pub use error::Error;
pub use eventually::eventually;
pub use model::session_password;
pub use proxy::{Counts, Direction, Hold, How, Proxy, Rule, RuleBuilder};
#[cfg(feature = "real")]
pub use real::*;
pub use server::{EmbeddedServer, EmbeddedServerBuilder};
