//! The process that ends a program whose lock ends.
//!
//! It is in a process group of its own, so that neither the terminal nor a signal to the group of its parent stops it.
//! It reads [deadlines](Deadlines) from its standard input, and uses nothing else: no network, no disk and no memory
//! that grows. Each failure ends the program: the end of the input, and a failed system call.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::unistd::{Pid, read};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use super::child::{OWN, spawn};
use super::lease::{Deadlines, now};
use crate::exit::Code;

/// The argument that makes this program a watchdog.
pub(super) const NAME: &str = "__watchdog";

/// The watchdog of a program, as its parent sees it.
///
/// It is killed on drop. It must be, before the group that it watches is gone and its number may be given again.
pub(super) struct Watchdog {
    process: Child,
    orders: pipe::Sender,
    answers: pipe::Receiver,
    has_acted: bool,
}

/// News of a watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// The time is over, and it signals the group.
    Expired,
    /// It is gone.
    Gone,
}

impl Watchdog {
    /// Starts a watchdog of a group, which has no deadlines yet.
    pub(super) fn start(group: Pid) -> io::Result<Self> {
        let mut command = Command::new(OWN);
        let command = command.arg0("zklock").args([NAME, &group.to_string()]).process_group(0);
        let mut process = spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()))?;
        let piped = || io::Error::other("the watchdog has no pipe");
        let (orders, answers) = process.stdin.take().zip(process.stdout.take()).ok_or_else(piped)?;
        let (orders, answers) = (sender(orders)?, receiver(answers)?);
        Ok(Self { process, orders, answers, has_acted: false })
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id() as i32)
    }

    /// Sends the first deadlines, and waits until it watches.
    pub(super) async fn watch(&mut self, deadlines: Deadlines) -> io::Result<()> {
        self.orders.writable().await?;
        self.order(deadlines)?;
        match self.answers.read_u8().await? {
            WATCHES => Ok(()),
            _ => Err(io::Error::other("the watchdog gave an unknown answer")),
        }
    }

    /// Sends new deadlines, without waiting. If they do not reach it, the old ones stay, which are earlier.
    pub(super) fn extend(&self, deadlines: Deadlines) {
        self.order(deadlines).ok();
    }

    /// Lets it kill the program then, without a further SIGTERM.
    pub(super) fn kill_at(&self, time: Duration) {
        self.order(Deadlines { term: time, kill: time }).ok();
    }

    /// Waits for its news.
    pub(super) async fn notice(&mut self) -> Notice {
        match self.answers.read_u8().await {
            Ok(EXPIRED) => {
                self.has_acted = true;
                Notice::Expired
            }
            _ => Notice::Gone,
        }
    }

    /// Returns whether it has signalled the group because the time was over.
    pub(super) fn has_acted(&mut self) -> bool {
        let mut answers = [0; 8];
        // The runtime may not know yet that the pipe, which never blocks, has an answer.
        let length = read(&self.answers, &mut answers).unwrap_or_default();
        self.has_acted |= answers[..length].contains(&EXPIRED);
        self.has_acted
    }

    /// A pipe takes a few bytes as a whole or not at all.
    fn order(&self, deadlines: Deadlines) -> io::Result<()> {
        self.orders.try_write(&deadlines.to_bytes()).map(drop)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn sender(pipe: ChildStdin) -> io::Result<pipe::Sender> {
    pipe::Sender::from_owned_fd(pipe.into())
}

fn receiver(pipe: ChildStdout) -> io::Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(pipe.into())
}

/// Watches a group until the input ends or the time is over. The parent kills this process when it is not needed any
/// more.
pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let group = arguments.first().and_then(|group| group.to_str()?.parse().ok()).map(Pid::from_raw);
    let Some(group) = group else { return Code::Usage.into() };
    // A signal to all processes of a service must not end it before the program has ended.
    let blocked = SigSet::all().thread_block();
    let outcome = blocked.map_err(io::Error::from).and_then(|()| keep(group));
    killpg(group, Signal::SIGKILL).ok();
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns when the program has to be killed.
fn keep(group: Pid) -> io::Result<()> {
    // Without a buffer, in which orders would wait unnoticed.
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let timer = TimerFd::new(ClockId::CLOCK_BOOTTIME, TimerFlags::TFD_CLOEXEC)?;
    let (mut deadlines, mut is_asked) = (None, false);
    loop {
        poll(&mut [readable(&input), readable(&timer)], PollTimeout::NONE)?;
        // The last of the orders counts. After a stop, many may have come.
        while poll(&mut [readable(&input)], PollTimeout::ZERO)? > 0 {
            let mut order = [0; Deadlines::LENGTH];
            input.read_exact(&mut order)?;
            if deadlines.replace(Deadlines::from_bytes(order)).is_none() {
                answer(WATCHES)?;
            }
        }
        let Some(deadlines) = deadlines else { continue };
        let now = now()?;
        if now >= deadlines.term && !is_asked {
            is_asked = true;
            // The parent must know the reason when it sees the program end.
            answer(EXPIRED)?;
            if now < deadlines.kill {
                killpg(group, Signal::SIGTERM).ok();
                // A stopped program cannot end by itself.
                killpg(group, Signal::SIGCONT).ok();
            }
        }
        if now >= deadlines.kill {
            return Ok(());
        }
        set(&timer, if is_asked { deadlines.kill } else { deadlines.term })?;
    }
}

/// Tells its parent. The few answers fit into the pipe, even if the parent is stopped.
fn answer(answer: u8) -> io::Result<()> {
    io::stdout().write_all(&[answer]).and_then(|()| io::stdout().flush())
}

fn readable(file: &impl AsFd) -> PollFd<'_> {
    PollFd::new(file.as_fd(), PollFlags::POLLIN)
}

/// Wakes the poll at this time on the clock.
fn set(timer: &TimerFd, at: Duration) -> io::Result<()> {
    let at = Expiration::OneShot(TimeSpec::from_duration(at));
    Ok(timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?)
}

/// The answer of a watchdog that has its first deadlines.
const WATCHES: u8 = b'w';
/// The word of a watchdog that is about to signal the group, because the time is over.
const EXPIRED: u8 = b't';
