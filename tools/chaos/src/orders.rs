//! The orders of a process, which are its command line; the kinds of work; and the settings that the servers and all
//! processes have in common.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::history::Process;

/// The orders of a process, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The servers, each through a proxy that only this process uses.
    pub(crate) connect: String,
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
    pub(crate) workloads: Vec<Workload>,
}

#[cfg(test)]
impl Orders {
    /// Returns orders without work, for the files in this directory.
    pub(crate) fn of_a_test(directory: &std::path::Path) -> Self {
        Self {
            connect: String::new(),
            process: Process { number: 0, incarnation: 0 },
            directory: directory.to_owned(),
            service: ([127, 0, 0, 1], 1).into(),
            seed: 0,
            tasks: 1,
            rate: 1_000,
            workloads: Vec::new(),
        }
    }
}

/// One kind of work under locks, with a resource that shows whether the locks excluded each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum Workload {
    /// Reads a shared file, sleeps and writes it under a mutex, without any guard.
    Register,
    /// The same with a service that refuses older tokens.
    FencedRegister,
    /// Counts in ZooKeeper by writes through the guard.
    Guarded,
    /// Reads and writes under one read-write lock.
    ReadWrite,
    /// Takes permits of a semaphore, one or several.
    Permits,
    /// Takes two of three mutexes as one.
    Multi,
    /// Leads, and starts a job at most once per period.
    Leader,
}

impl Workload {
    /// Returns the locks of the work, each with the nodes below the namespace whose children are its contenders.
    pub(crate) fn queues(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::Register => REGISTERS.map(|lock| (lock, lock)).to_vec(),
            Self::FencedRegister => FENCED.map(|lock| (lock, lock)).to_vec(),
            Self::Guarded => GUARDED.map(|lock| (lock, lock)).to_vec(),
            Self::ReadWrite => vec![("/table", "/table")],
            Self::Permits => vec![("/permits", "/permits/leases"), ("/permits", "/permits/locks")],
            Self::Multi => vec![("/pair-a", "/pair-a"), ("/pair-b", "/pair-b"), ("/pair-c", "/pair-c")],
            Self::Leader => vec![("/leader", "/leader"), ("/job", "/job")],
        }
    }
}

/// The mutexes of one kind of work. The holds of the last one are often long.
pub(crate) type Locks = [&'static str; 4];

pub(crate) const REGISTERS: Locks = ["/register-0", "/register-1", "/register-2", "/register-long"];
pub(crate) const FENCED: Locks = ["/fenced-0", "/fenced-1", "/fenced-2", "/fenced-long"];
pub(crate) const GUARDED: Locks = ["/guarded-0", "/guarded-1", "/guarded-2", "/guarded-long"];

/// The namespace of all locks and data of a campaign.
pub(crate) const NAMESPACE: &str = "/chaos";
/// The session timeout, so short that many locks are lost.
pub(crate) const SESSION: Duration = Duration::from_secs(5);
/// The `tickTime` of the servers.
pub(crate) const TICK: Duration = Duration::from_millis(500);
/// The `syncLimit` of the servers.
pub(crate) const SYNC_LIMIT: u32 = 5;
/// The longest wait for a lock, and for the answer to any other request.
pub(crate) const WAIT: Duration = Duration::from_secs(8);
/// The time between two looks of the servers for empty containers, in milliseconds.
pub(crate) const CONTAINERS_MS: &str = "3000";
