//! One look at all processes and servers.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::param::page_size;
use zklock_testkit::{Ensemble, ZooKeeper};

/// A resource of processes or servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gauge {
    Memory,
    Descriptors,
    Threads,
    Watches,
    Nodes,
    Connections,
}

/// The resources at one time: the means over the processes that run, and the sums over the servers that answer.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// The time since the start of the run.
    pub(super) at: Duration,
    values: [f64; Gauge::ALL.len()],
}

impl Gauge {
    pub(super) const ALL: [Self; 6] =
        [Self::Memory, Self::Descriptors, Self::Threads, Self::Watches, Self::Nodes, Self::Connections];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory of a process (KiB)",
            Self::Descriptors => "descriptors of a process",
            Self::Threads => "threads of a process",
            Self::Watches => "watches of a server",
            Self::Nodes => "nodes of a server",
            Self::Connections => "connections of a server",
        }
    }

    /// Returns the difference that comes from the work that happens to be under way.
    pub(super) fn allowance(self) -> f64 {
        match self {
            Self::Memory => 2_048.0,
            Self::Descriptors | Self::Threads | Self::Connections => 4.0,
            Self::Watches | Self::Nodes => 50.0,
        }
    }
}

impl Sample {
    /// Looks at these processes and servers. Returns `None` if none of one kind answers.
    pub(super) fn take(at: Duration, processes: &[u32], ensemble: &Ensemble) -> Option<Self> {
        let processes: Vec<_> = processes.iter().filter_map(|process| of_process(*process)).collect();
        let servers: Vec<_> = ensemble.servers().iter().filter_map(of_server).collect();
        let [memory, descriptors, threads] = mean(&processes)?;
        let [watches, nodes, connections] = mean(&servers)?;
        Some(Self { at, values: [memory, descriptors, threads, watches, nodes, connections] })
    }

    #[cfg(test)]
    pub(super) fn even(at: Duration, value: f64) -> Self {
        Self { at, values: [value; Gauge::ALL.len()] }
    }

    pub(super) fn of(&self, gauge: Gauge) -> f64 {
        self.values[gauge as usize]
    }
}

fn mean(values: &[[f64; 3]]) -> Option<[f64; 3]> {
    let sum = |nth: usize| values.iter().map(|values| values[nth]).sum::<f64>();
    (!values.is_empty()).then(|| [0, 1, 2].map(|nth| sum(nth) / values.len() as f64))
}

/// Returns the memory in KiB, the descriptors and the threads of a process, unless it is gone.
fn of_process(process: u32) -> Option<[f64; 3]> {
    let directory = Path::new("/proc").join(process.to_string());
    let pages: f64 = fs::read_to_string(directory.join("statm")).ok()?.split(' ').nth(1)?.parse().ok()?;
    let count = |of: &str| Some(fs::read_dir(directory.join(of)).ok()?.count() as f64);
    Some([pages * page_size() as f64 / 1_024.0, count("fd")?, count("task")?])
}

/// Returns the watches, the nodes and the connections of a server, unless it is down or stands still.
fn of_server(server: &ZooKeeper) -> Option<[f64; 3]> {
    let answer = server.four_letter("mntr").ok()?;
    let figure = |name: &str| {
        let value = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'))?;
        value.trim().parse::<f64>().ok()
    };
    let (watches, nodes) = (figure("zk_watch_count")?, figure("zk_znode_count")?);
    Some([watches, nodes, figure("zk_num_alive_connections")?])
}
