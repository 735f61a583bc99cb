//! Real servers as child processes, and the programs that they need. This module needs the feature `real`.
//!
//! * [`installation`]: finds Java, ZooKeeper, Curator and other programs, or installs Debian's packages.
//! * [`zookeeper`], [`ensemble`]: servers alone and together. [`tls`] makes their certificates.
//! * [`kerberos`]: a key distribution center.
//! * [`supervisor`]: a shell that ends a process with its owner, and free ports.

mod ensemble;
mod installation;
mod kerberos;
mod supervisor;
#[cfg(feature = "tls")]
mod tls;
mod zookeeper;

pub use ensemble::{Ensemble, EnsembleBuilder};
pub use installation::{Curator, Installation, Kerberos, PostgreSql, Promtool};
pub use kerberos::{Kdc, Principal};
#[cfg(feature = "tls")]
pub use tls::{Authority, ClientCertificates, Identity, Tls, Validity};
pub use zookeeper::{ZooKeeper, ZooKeeperBuilder};

/// Returns the last lines of a log, few enough for a message.
fn tail(log: &str) -> String {
    const LINES: usize = 40;
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
