//! The end of this process.
//!
//! A shell ends its script or its loop if a signal ended a program, and goes on after an exit code. The signal that ended
//! the program therefore ends this process, too.

use std::process::ExitCode;

use nix::sys::prctl::set_dumpable;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use signal_hook::low_level::emulate_default_handler;

use super::child::Status;
use super::signals::is_ending;
use crate::exit::Code;

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
