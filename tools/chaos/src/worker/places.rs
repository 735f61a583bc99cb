//! The places of the resources.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::files::Cells;

/// The places of the resources.
pub(super) struct Places {
    pub(super) directory: PathBuf,
    pub(super) service: SocketAddr,
}

impl Places {
    pub(super) fn cells(&self, resource: &str) -> io::Result<Cells> {
        Cells::open(&self.directory.join(resource))
    }
}
