//! The orders of a process, which are its command line. Uses only `workload`.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::history::Process;

use crate::workload::{Pace, Workload};

/// The orders of a process.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Orders {
    /// The servers, each through a proxy that only this process uses.
    #[arg(long)]
    pub(crate) connect: String,
    /// The number and the incarnation of this process.
    #[arg(long)]
    pub(crate) process: Process,
    /// The directory of the shared files and the histories.
    #[arg(long)]
    pub(crate) directory: PathBuf,
    /// The service that refuses older tokens.
    #[arg(long)]
    pub(crate) service: SocketAddr,
    #[arg(long)]
    pub(crate) seed: u64,
    /// The number of tasks for each kind of work, at least two.
    #[arg(long)]
    pub(crate) tasks: u32,
    /// The rate of this process's clock, in thousandths of the true one.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) rate: u32,
    #[arg(long)]
    pub(crate) pace: Pace,
    #[arg(long, value_delimiter = ',')]
    pub(crate) workload: Vec<Workload>,
}
