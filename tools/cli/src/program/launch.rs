//! The process that becomes the program.
//!
//! It arranges that the kernel kills it when its parent is gone, and brings its group to the foreground of the terminal.
//! Then it stops itself, until its parent lets it go on.

use std::ffi::{CStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode};

use nix::sys::prctl::{set_name, set_pdeathsig};
use nix::sys::signal::{Signal, raise};
use nix::unistd::{Pid, getpgid, getppid};

use super::child::{OWN, key_that_stops, spawn};
use super::terminal::{Place, Terminal};
use crate::exit::Code;

/// The argument that makes this program the launcher of another one.
pub(super) const NAME: &str = "__program";

/// Whether a program ends with the process that started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bond {
    /// It is killed when its parent is gone.
    Bound,
    /// It goes on without its parent.
    Free,
}

/// Starts a process that is about to become the program, in a group of its own. It stops itself first.
pub(super) fn start(
    program: &[OsString],
    environment: &[(&str, String)],
    bond: Bond,
    place: Place,
) -> io::Result<Child> {
    let parent = Pid::this().to_string();
    let bond = if bond == Bond::Bound { BOUND } else { FREE };
    let place = if place == Place::Foreground { FOREGROUND } else { BACKGROUND };
    let mut command = Command::new(OWN);
    command.arg0("zklock").args([NAME, &parent, bond, place]).args(program).process_group(0);
    spawn(command.envs(environment.iter().map(|(name, value)| (name, value))))
}

/// Becomes the program. Returns if it cannot.
pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let [parent, bond, place, program, rest @ ..] = arguments else { return Code::Usage.into() };
    // It was blocked for the start. The parent lets a process go on that a key stops here.
    if key_that_stops().thread_unblock().is_err() {
        return Code::Failed.into();
    }
    if bond == BOUND {
        let bound = set_pdeathsig(Signal::SIGKILL);
        // A parent that was gone before is not noticed by the kernel.
        if bound.is_err() || getppid().to_string().as_str() != parent {
            return Code::Failed.into();
        }
    }
    if place == FOREGROUND
        && let Some(terminal) = Terminal::open()
        && getpgid(Some(getppid())).is_ok_and(|group| terminal.has(group))
    {
        // A shell may have taken the foreground back meanwhile.
        terminal.give_to(nix::unistd::getpgrp());
    }
    if set_name(READY).and_then(|()| raise(Signal::SIGSTOP)).is_err() {
        return Code::Failed.into();
    }
    let error = Command::new(program).args(rest).exec();
    let code = if error.kind() == io::ErrorKind::NotFound { Code::NotFound } else { Code::CannotRun };
    writeln!(io::stderr(), "zklock: cannot run {}: {error}", program.display()).ok();
    code.into()
}

/// Tells whether a process has done all that comes before it stops itself.
pub(super) fn is_ready(process: Pid) -> bool {
    let name = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    name.strip_suffix(b"\n") == Some(READY.to_bytes())
}

/// The name of a process that is about to stop itself. The program gets its own one.
const READY: &CStr = c"zklock-ready";
const BOUND: &str = "bound";
const FREE: &str = "free";
const FOREGROUND: &str = "foreground";
const BACKGROUND: &str = "background";
