//! The options of a campaign.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::TypedValueParser;

use crate::orders::Workload;
use crate::schedule::{Kind, Plan};

/// A campaign of random faults, which fails if the check of the histories finds a violation of the promise.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// The length of the time with faults.
    #[arg(long, default_value_t = 1.0, conflicts_with = "seconds", value_parser = length)]
    minutes: f64,
    /// The same in seconds.
    #[arg(long, value_parser = length)]
    seconds: Option<f64>,
    /// The seed of the schedule. The same seed gives the same faults at the same times.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The kinds of work, separated by commas [default: all of them, beside each other]
    #[arg(long, value_delimiter = ',')]
    workload: Vec<Workload>,
    /// The kinds of faults, separated by commas [default: all of them except `full-disk`, after which ZooKeeper 3.8 does not
    /// keep its own promises]
    #[arg(long, value_delimiter = ',', conflicts_with = "no_faults")]
    faults: Vec<Kind>,
    /// A run without faults.
    #[arg(long)]
    no_faults: bool,
    /// The number of servers.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(3..).map(usize::from))]
    pub(crate) servers: usize,
    /// The number of processes.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..).map(usize::from))]
    pub(crate) processes: usize,
    /// The number of tasks of each process for each kind of work [default: 6, or 2 if there are several kinds]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=32))]
    tasks: Option<u32>,
    /// Keeps the histories and the logs in this new directory.
    #[arg(long)]
    pub(crate) keep: Option<PathBuf>,
}

impl Options {
    pub(crate) fn length(&self) -> Duration {
        let seconds = self.seconds.unwrap_or(self.minutes * 60.0);
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }

    pub(crate) fn workloads(&self) -> Vec<Workload> {
        if self.workload.is_empty() { Workload::value_variants().to_vec() } else { self.workload.clone() }
    }

    pub(crate) fn tasks(&self) -> u32 {
        self.tasks.unwrap_or_else(|| if self.workloads().len() > 1 { 2 } else { 6 })
    }

    /// Returns the plan of the faults, without those that this machine cannot inject.
    pub(crate) fn plan(&self, can: impl Fn(Kind) -> bool) -> Plan {
        let kinds = match (self.no_faults, &self.faults[..]) {
            (true, _) => Vec::new(),
            (false, []) => Kind::value_variants().iter().copied().filter(|kind| kind.spares_data()).collect(),
            (false, kinds) => kinds.to_vec(),
        };
        let kinds = kinds.into_iter().filter(|kind| can(*kind)).collect();
        let (servers, processes) = (self.servers, self.processes);
        Plan { seed: self.seed, length: self.length(), servers, processes, kinds }
    }
}

/// Reads a length, which is longer than nothing.
fn length(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(length) if length > 0.0 && f64::is_finite(length) => Ok(length),
        Ok(_) | Err(_) => Err("a length is a number above zero".to_owned()),
    }
}
