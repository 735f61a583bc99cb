//! ZooKeeper servers to test against: embedded, real, and behind a proxy that injects faults.
//!
//! | | what | for |
//! |---|---|---|
//! | [`EmbeddedServer`] | a server inside this process, over a deterministic [`model`] | tests without Java |
//! | [`ZooKeeper`], [`Ensemble`] | real servers as child processes | tests against the real thing |
//! | [`Kdc`] | a realm of Kerberos, as a child process | logins by GSSAPI |
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
//! A real server listens on a free loopback port and keeps its data in a temporary directory.
//! [`Installation`] finds the Java classes that it needs, or installs them. The server ends with the process
//! that started it, however that process ends: a shell between the two holds the read end of a pipe, and
//! kills the server and removes its directory when the pipe closes. Dropping [`ZooKeeper`] closes the pipe,
//! and so does the kernel when the owner is killed.
//!
//! With the feature `tls`, a real server also has a port with TLS: see `ZooKeeperBuilder::tls` and `Authority`, which
//! makes certificates for tests. [`ZooKeeperBuilder::user`], [`ZooKeeperBuilder::kerberos`] and
//! [`ZooKeeperBuilder::superuser`] need no feature.
//!
//! Starting real servers requires Linux, for `/proc` and for loopback addresses other than 127.0.0.1, and a
//! POSIX `/bin/sh`.

pub mod conversation;
mod ensemble;
mod error;
mod eventually;
mod four_letter;
#[doc(hidden)]
pub mod impostor;
mod installation;
mod kerberos;
pub mod model;
mod packages;
mod ports;
mod proxy;
mod server;
mod session_password;
mod supervisor;
#[cfg(feature = "tls")]
mod tls;
pub mod wire;
mod zookeeper;

pub use conversation::Conversation;
pub use ensemble::{Ensemble, EnsembleBuilder};
pub use error::Error;
pub use eventually::eventually;
pub use installation::{Curator, Installation, Kerberos, PostgreSql, Tool};
pub use kerberos::{Kdc, Principal};
pub use proxy::{Counts, Direction, Hold, How, Proxy, Rule, RuleBuilder};
pub use server::{EmbeddedServer, EmbeddedServerBuilder};
pub use session_password::session_password;
#[cfg(feature = "tls")]
pub use tls::{Authority, ClientCertificates, Identity, Tls, Validity};
pub use zookeeper::{ZooKeeper, ZooKeeperBuilder};
