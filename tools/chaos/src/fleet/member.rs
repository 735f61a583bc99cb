//! The place of a process in a fleet.

use std::io;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};

use crate::history::{Event, Process, Source};

use crate::journal::Journal;
use crate::workload::{Pace, Workload};

use super::clocks::{Clock, Skew};
use super::links::Links;

/// The orders that all processes have in common.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) directory: PathBuf,
    pub(crate) service: SocketAddr,
    pub(crate) seed: u64,
    pub(crate) tasks: u32,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) pace: Pace,
    /// `None` if all clocks are true.
    pub(crate) skew: Option<Skew>,
}

/// The place of a process, whose incarnations follow each other.
pub(super) struct Member {
    pub(super) links: Links,
    pub(super) process: Process,
    pub(super) life: Life,
}

pub(super) enum Life {
    Runs(Child),
    Stopped(Child),
    Ended,
}

/// The end of a process that was not killed.
#[derive(Clone, Debug)]
pub(crate) struct Exit {
    pub(crate) process: Process,
    pub(crate) how: String,
}

impl Member {
    /// Returns the command of the next incarnation: this program again.
    pub(super) fn command(&self, common: &Common, clock: Clock) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        let workloads: Vec<_> = common.workloads.iter().map(|workload| workload.name()).collect();
        command
            .arg("worker")
            .args(["--connect", &self.links.connect_string(), "--process", &self.process.to_string()])
            .arg("--directory")
            .arg(&common.directory)
            .args(["--service", &common.service.to_string(), "--seed", &common.seed.to_string()])
            .args(["--tasks", &common.tasks.to_string(), "--workload", &workloads.join(",")])
            .args(["--pace", &common.pace.name()])
            .env("RUST_BACKTRACE", "1")
            // Signals from a terminal are for the campaign.
            .process_group(0);
        if let (Clock::Skewed(rate), Some(skew)) = (clock, &common.skew) {
            skew.set(rate, &mut command);
        }
        Ok(command)
    }

    pub(super) fn exited(&mut self, journal: &Journal, how: String) -> Exit {
        let process = self.process;
        journal.note(Source::Campaign, Event::ProcessExited { process });
        self.life = Life::Ended;
        self.process.incarnation += 1;
        Exit { process, how }
    }
}
