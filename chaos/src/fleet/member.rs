//! The place of a process in a fleet.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use zklock_testkit::history::{Event, Library, Process, Source};

use crate::journal::Journal;

use super::{Clock, Common, Exit, Links};

/// The place of a process, whose incarnations follow each other.
pub(super) struct Member {
    pub(super) links: Links,
    pub(super) process: Process,
    pub(super) library: Library,
    pub(super) life: Life,
}

pub(super) enum Life {
    Runs(Child),
    Stopped(Child),
    Ended,
}

impl Member {
    /// Returns the command of the next incarnation: this program again.
    pub(super) fn command(&self, common: &Common, clock: Clock) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        let workloads: Vec<_> = common.workloads.iter().map(|workload| workload.name()).collect();
        command
            .arg(if self.library == Library::Curator { "curator" } else { "worker" })
            .args(["--connect", &self.links.connect_string(), "--process", &self.process.to_string()])
            .arg("--directory")
            .arg(&common.directory)
            .args(["--service", &common.service.to_string(), "--seed", &common.seed.to_string()])
            .args(["--tasks", &common.tasks.to_string(), "--workload", &workloads.join(",")])
            .args(["--pace", &common.pace.name()])
            .env("RUST_BACKTRACE", "1")
            // Signals from a terminal are for the campaign.
            .process_group(0);
        // Java reads its clock in another way.
        if let (Library::Zklock, Clock::Skewed(rate), Some(skew)) = (self.library, clock, &common.skew) {
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
