//! The orders of a process, which are its command line. Uses only `workload`.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::history::Process;
use crate::workload::{Pace, Workload};

/// The orders of a process, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The servers, each through a proxy that only this process uses.
    pub(crate) connect: String,
    /// The number and the incarnation of this process.
    pub(crate) process: Process,
    /// The directory of the shared files and the histories.
    pub(crate) directory: PathBuf,
    /// The service that refuses older tokens.
    pub(crate) service: SocketAddr,
    pub(crate) seed: u64,
    /// The number of tasks for each kind of work, at least two.
    pub(crate) tasks: u32,
    /// The rate of this process's clock, in thousandths of the true one.
    pub(crate) rate: u32,
    pub(crate) pace: Pace,
    pub(crate) workloads: Vec<Workload>,
}
