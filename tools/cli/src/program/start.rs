//! The start of a program, which does not begin before it is watched, and not without its lock.

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::signal::unix::{self, SignalKind};
use tokio::time::timeout;
use zklock::{Held, LossReason};

use super::child::{Child, News};
use super::launch::{self, Bond};
use super::lease::{self, Lease};
use super::signals::Signals;
use super::terminal::Stage;
use super::watchdog::Watchdog;

/// A process that is about to become a program, and its watchdog.
pub(super) struct Launched {
    /// Dropped before the child, whose group it may signal.
    pub(super) watchdog: Option<Watchdog>,
    pub(super) child: Child,
    pub(super) changes: unix::Signal,
    pub(super) stage: Stage,
}

/// The course of a start.
pub(super) enum Course {
    /// The program has begun.
    Begun(Launched),
    /// The lock was lost before.
    Lost(LossReason),
    /// A signal asked this process to end before.
    Asked(Signal),
}

impl Launched {
    /// Starts both processes.
    pub(super) fn new(program: &[OsString], bond: Bond, held: &Held) -> io::Result<Self> {
        let changes = unix::signal(SignalKind::child())?;
        let stage = Stage::open();
        let environment =
            [("ZKLOCK_PATH", held.path().to_owned()), ("ZKLOCK_TOKEN", held.fencing_token().to_text())];
        let child = Child::new(launch::start(program, &environment, bond, stage.place())?);
        let mut launched = Self { watchdog: None, child, changes, stage };
        match launched.attend(bond) {
            Ok(()) => Ok(launched),
            Err(error) => {
                // The process may have the terminal already.
                launched.give_up();
                Err(error)
            }
        }
    }

    fn attend(&mut self, bond: Bond) -> io::Result<()> {
        if bond == Bond::Bound {
            self.watchdog = Some(Watchdog::start(self.child.group())?);
        }
        self.stage.listen(&self.child)
    }

    /// Lets the program begin as soon as it is watched, unless its lock ends before, or a signal asks for the end.
    pub(super) async fn begin(
        mut self,
        held: &Held,
        lease: &mut Lease<'_>,
        signals: &mut Signals,
    ) -> io::Result<Course> {
        let over = lease.clone().over();
        let hindrance = tokio::select! {
            biased;
            reason = held.lost() => Ok(Course::Lost(reason)),
            signal = signals.end() => Ok(Course::Asked(signal)),
            over = over => over.map(|()| EXPIRED),
            ready = timeout(READY_WITHIN, self.ready(lease)) => match ready {
                Ok(Ok(())) => match self.go(lease) {
                    Ok(true) => return Ok(Course::Begun(self)),
                    Ok(false) => Ok(EXPIRED),
                    Err(error) => Err(error),
                },
                Ok(Err(error)) => Err(error),
                Err(_) => Err(late()),
            },
        };
        self.give_up();
        hindrance
    }

    /// Waits until the process stands in front of the program, and the watchdog watches it.
    async fn ready(&mut self, lease: &mut Lease<'_>) -> io::Result<()> {
        loop {
            match self.child.news()? {
                News::None => drop(self.changes.recv().await),
                News::Stopped(Signal::SIGSTOP) if launch::is_ready(self.child.group()) => break,
                // A key of the terminal or another process has stopped it before it stopped itself.
                News::Stopped(_) => self.child.signal_group(Signal::SIGCONT),
                // Its end is news again for the supervision.
                News::Ended => return Ok(()),
            }
        }
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.watch(lease.look(lease::now()?)).await?;
        }
        Ok(())
    }

    /// Lets the program begin, unless its lock is about to end. This process may have been stopped since its last look at
    /// the clock.
    fn go(&self, lease: &mut Lease<'_>) -> io::Result<bool> {
        let Some(deadlines) = lease.beginning(lease::now()?) else { return Ok(false) };
        self.watchdog.iter().for_each(|watchdog| watchdog.extend(deadlines));
        self.child.signal_group(Signal::SIGCONT);
        Ok(true)
    }

    /// Kills the process, which is not the program yet.
    fn give_up(self) {
        drop(self.watchdog);
        self.stage.take_back(&self.child);
        drop(self.child);
    }
}

fn late() -> io::Error {
    let seconds = READY_WITHIN.as_secs();
    io::Error::new(io::ErrorKind::TimedOut, format!("its processes were not ready within {seconds} s"))
}

const EXPIRED: Course = Course::Lost(LossReason::LeaseExpired);
/// The longest wait for the start of both processes, which is long enough for a machine that swaps.
const READY_WITHIN: Duration = Duration::from_secs(10);
