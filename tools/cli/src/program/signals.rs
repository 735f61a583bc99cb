//! The signals that are passed on to the program, and the end of this process.
//!
//! A shell ends its script or its loop if a signal ended a program, and goes on after an exit code. The signal that ended
//! the program therefore ends this process, too.

use std::fs;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::process::ExitCode;
use std::task::Poll;
use std::time::Duration;

use nix::sys::prctl::set_dumpable;
use nix::sys::signal::{SigSet, Signal, killpg, raise};
use nix::unistd::{Pid, getpgrp};
use signal_hook::low_level::emulate_default_handler;
use tokio::signal::unix::{self, SignalKind};
use tokio::time::timeout;

use super::child::Status;
use super::terminal::may_suspend;
use crate::exit::Code;

/// The signals that this process catches and passes on.
///
/// A signal that was ignored when this process started stays ignored, by the program too: nohup(1) and the background
/// jobs of shells rely on it.
#[derive(Debug)]
pub(crate) struct Signals {
    caught: Vec<(Signal, unix::Signal)>,
    /// Whether there was a signal to end.
    is_asked: bool,
    /// Whether a further one cut the work at the end short.
    is_hurried: bool,
    /// All that came.
    got: SigSet,
    /// The signal of a key that only the group of the program got.
    key: Option<Signal>,
}

impl Signals {
    /// Catches the signals from now on.
    pub(crate) fn catch() -> io::Result<Self> {
        let ignored = ignored(&fs::read_to_string("/proc/self/status")?);
        let caught = PASSED_ON.into_iter().filter(|signal| ignored & (1 << (*signal as u32 - 1)) == 0);
        let listen = |signal: Signal| Ok((signal, unix::signal(SignalKind::from_raw(signal as i32))?));
        let caught = caught.map(listen).collect::<io::Result<_>>()?;
        Ok(Self { caught, is_asked: false, is_hurried: false, got: SigSet::empty(), key: None })
    }

    /// Waits for a signal, which is passed on to a program.
    pub(crate) async fn next(&mut self) -> Signal {
        let signal = self.any().await;
        self.is_asked |= asks_to_end(signal);
        signal
    }

    async fn any(&mut self) -> Signal {
        let signal = poll_fn(|context| {
            for (signal, caught) in &mut self.caught {
                if let Poll::Ready(Some(())) = caught.poll_recv(context) {
                    return Poll::Ready(*signal);
                }
            }
            Poll::Pending
        });
        let signal = signal.await;
        self.got.add(signal);
        signal
    }

    /// Takes the signal of a key that the group of the program got, unless it is one that this process passed on.
    /// Returns whether it asks for the end.
    pub(super) fn hear(&mut self, key: Signal) -> bool {
        let is_foreign = !self.got.contains(key);
        if is_foreign {
            self.key = Some(key);
            self.is_asked |= asks_to_end(key);
        }
        is_foreign && asks_to_end(key)
    }

    /// Sends the signal of a key to the group of this process, which did not get it from the terminal.
    pub(crate) fn tell_group(&self) {
        if let Some(key) = self.key {
            killpg(getpgrp(), key).ok();
        }
    }

    /// Waits for a signal that ends a process which does not catch it. One that stops a process stops this one.
    pub(crate) async fn end(&mut self) -> Signal {
        loop {
            match self.any().await {
                signal if is_ending(signal) => {
                    self.is_asked = true;
                    return signal;
                }
                Signal::SIGTSTP if may_suspend() => drop(raise(Signal::SIGSTOP)),
                _ => {}
            }
        }
    }

    /// Does the work at the end of a command. After a further signal to end, it may take a moment more, and so may all
    /// work that follows it. Returns `None` if it was not done by then.
    ///
    /// The first signal does not hurry the work: it may have come to the program as well, and have been the reason for
    /// its end.
    pub(crate) async fn last<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        while !self.is_hurried {
            let was_asked = self.is_asked;
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                _ = self.end() => self.is_hurried = was_asked,
            }
        }
        timeout(MOMENT, work).await.ok()
    }
}

/// Tells whether a signal is for the program alone, because other programs do not expect it and end.
pub(super) fn is_for_program(signal: Signal) -> bool {
    matches!(signal, Signal::SIGUSR1 | Signal::SIGUSR2)
}

/// Tells whether a signal asks a program to end. Programs that run for long take the other signals for other things:
/// SIGHUP to read their settings again, and SIGQUIT to show their threads.
pub(super) fn asks_to_end(signal: Signal) -> bool {
    matches!(signal, Signal::SIGINT | Signal::SIGTERM)
}

/// Tells whether a signal ends a process that does not catch it, as it is meant to.
pub(super) fn is_ending(signal: Signal) -> bool {
    ENDING.contains(&signal)
}

/// Reads the mask of the ignored signals from the status of a process.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// The time for the servers to answer a last request, if they do.
const MOMENT: Duration = Duration::from_secs(1);
const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
const PASSED_ON: [Signal; 9] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGTSTP,
    Signal::SIGCONT,
];

/// The end of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Exit(ExitCode),
    Signal(Signal),
}

impl End {
    /// Ends this process by the signal, if it is one. Returns the exit code otherwise.
    pub(crate) fn reach(self) -> ExitCode {
        let signal = match self {
            Self::Exit(code) => return code,
            Self::Signal(signal) => signal,
        };
        // The kernel lets no signal of its own end the first process of a container, which has the code of a shell.
        if Pid::this() != Pid::from_raw(1) {
            // The program has its dump already, if it is to have one.
            set_dumpable(false).ok();
            emulate_default_handler(signal as i32).ok();
        }
        Status::from(signal).code().into()
    }
}

impl From<()> for End {
    fn from((): ()) -> Self {
        Self::Exit(ExitCode::SUCCESS)
    }
}

impl From<ExitCode> for End {
    fn from(code: ExitCode) -> Self {
        Self::Exit(code)
    }
}

impl From<Code> for End {
    fn from(code: Code) -> Self {
        Self::Exit(code.into())
    }
}

impl From<Status> for End {
    fn from(status: Status) -> Self {
        match status {
            Status::Signaled(signal) => match Signal::try_from(signal) {
                Ok(signal) if is_ending(signal) => Self::Signal(signal),
                _ => Self::Exit(status.code().into()),
            },
            Status::Exited(_) => Self::Exit(status.code().into()),
        }
    }
}
