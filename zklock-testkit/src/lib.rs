//! Servers to test against that speak the client protocol of ZooKeeper.
//!
//! | | what | for |
//! |---|---|---|
//! | [`EmbeddedServer`] | a server inside of this process, over a deterministic [`model`] | tests without Java |
//! | [`ZooKeeper`], [`Ensemble`] | real servers as child processes | tests against the real thing |
//! | [`Proxy`] | stands before any of them and loses, delays and spoils what is said | breaking things at exact points |
//! | [`wire`], [`Conversation`] | the records of the protocol, and one connection | tests of the protocol itself |
//!
//! ```
//! let server = zklock_testkit::EmbeddedServer::start()?;
//! println!("connect to {}", server.connect_string());
//! # Ok::<(), zklock_testkit::Error>(())
//! ```
//!
//! The embedded server also runs alone: `cargo run -p zklock-testkit -- --listen 127.0.0.1:2181`.
//!
//! A real server listens on a free loopback port and has its data in a temporary directory; [`Installation`]
//! finds the Java classes it needs, or installs them. It ends with the process that started it, whatever
//! happens to that process: a shell between the two holds the read end of a pipe, and ends the server and
//! removes its directory when the pipe closes. The `Drop` of [`ZooKeeper`] closes the pipe, and so does the
//! kernel when the owner is killed.
//!
//! The launcher needs Linux (it reads `/proc`, and listens at loopback addresses besides 127.0.0.1) and a POSIX
//! `/bin/sh`.

pub mod conversation;
mod ensemble;
mod error;
mod eventually;
mod four_letter;
mod installation;
pub mod model;
mod packages;
mod ports;
mod proxy;
mod server;
mod session_password;
pub mod wire;
mod zookeeper;

pub use conversation::Conversation;
pub use ensemble::{Ensemble, EnsembleBuilder};
pub use error::Error;
pub use eventually::eventually;
pub use installation::{Curator, Installation};
pub use proxy::{Counts, Direction, Hold, How, Proxy, Rule, RuleBuilder};
pub use server::{EmbeddedServer, EmbeddedServerBuilder};
pub use session_password::session_password;
pub use zookeeper::{ZooKeeper, ZooKeeperBuilder};
