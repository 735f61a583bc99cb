//! The kinds of work that the processes do. Uses no other module.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

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

/// The lengths of bodies and of the pauses between calls, and the share of the calls that are given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum Pace {
    /// Mostly short, and sometimes so long that a lock can be lost.
    #[default]
    Varied,
    /// Lengths as in the default, but half of the calls are given up soon.
    Hasty,
}

/// The mutexes of one kind of work. The holds of the last one are often long.
pub(crate) type Locks = [&'static str; 4];

pub(crate) const REGISTERS: Locks = ["/register-0", "/register-1", "/register-2", "/register-long"];
pub(crate) const FENCED: Locks = ["/fenced-0", "/fenced-1", "/fenced-2", "/fenced-long"];
pub(crate) const GUARDED: Locks = ["/guarded-0", "/guarded-1", "/guarded-2", "/guarded-long"];
