//! The server that all measurements use.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::step::Outcome;

/// A server that runs as long as the input of the process that holds it is open.
///
/// It therefore ends even if this program is killed.
pub(crate) struct Server {
    holder: Child,
    address: String,
}

impl Server {
    /// Starts a server through the example `with_zookeeper`, which also installs Curator if it is missing.
    pub(crate) fn start(with_zookeeper: &Path) -> Outcome<Self> {
        let mut holder = Command::new(with_zookeeper)
            .args(["sh", "-c", "echo \"$ZKLOCK_CONNECT\"; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut address = String::new();
        if let Some(output) = holder.stdout.take() {
            BufReader::new(output).read_line(&mut address)?;
        }
        let server = Self { holder, address: address.trim().to_owned() };
        if server.address.is_empty() {
            return Err("no ZooKeeper was started; its reason is above".into());
        }
        Ok(server)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        // A drop cannot report an error.
        let _ = self.holder.wait();
    }
}
