//! Servers to test zklock against.
//!
//! [`ZooKeeper`] starts a real, standalone ZooKeeper as a child process: on a free loopback port, with its
//! data in a temporary directory. [`Installation`] finds the Java classes it needs, or installs them.
//!
//! [`Proxy`] stands in front of a server and loses, delays and spoils what clients and it say to each other.
//!
//! ```no_run
//! let zookeeper = zklock_testkit::ZooKeeper::start()?;
//! println!("connect to {}", zookeeper.connect_string());
//! # Ok::<(), zklock_testkit::Error>(())
//! ```
//!
//! A server ends with the process that started it, whatever happens to that process: a shell between the two
//! holds the read end of a pipe, and ends the server and removes its directory when the pipe closes. The
//! `Drop` of [`ZooKeeper`] closes the pipe, and so does the kernel when the owner is killed.
//!
//! The launcher needs Linux (it reads `/proc`) and a POSIX `/bin/sh`.

mod error;
mod eventually;
mod four_letter;
mod installation;
pub mod model;
mod proxy;
mod server;
mod session_password;
pub mod wire;
mod zookeeper;

pub use error::Error;
pub use eventually::eventually;
pub use installation::Installation;
pub use proxy::{Counts, Direction, Hold, How, Proxy, Rule, RuleBuilder};
pub use server::{EmbeddedServer, EmbeddedServerBuilder};
pub use session_password::session_password;
pub use zookeeper::{ZooKeeper, ZooKeeperBuilder};
