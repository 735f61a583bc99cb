//! A program that ends before its lock does.
//!
//! Two processes know the time at which the lock may be lost: this one, which extends it with every answer of the
//! servers, and a [`watchdog`], which acts without this one. The program is in a process group of its own. It is ended
//!
//! * by this process when it learns of the loss, and when the lock runs out because the servers do not answer;
//! * by the watchdog when that time is over, even if this process is stopped, and as soon as this process is gone;
//! * by the kernel as soon as this process is gone, even if the watchdog is stopped or gone;
//! * by this process as soon as the watchdog is gone.
//!
//! The program therefore outlives its lock only if two processes fail at the same time. It starts after the watchdog
//! has confirmed that it watches: until then, its process is stopped in front of the program ([`launch`], [`start`]).
//!
//! * [`lease`]: the time for which the lock is certain to be held, and the times of both signals.
//! * [`child`]: the process of the program, and its group; the children of others, which become those of this process.
//! * [`signals`]: the signals that are passed on, and the end of this process, by a code or by a signal.
//! * [`terminal`]: the foreground of the terminal, and the signals of its keys.
//! * [`supervision`]: all of it together.

mod child;
mod launch;
mod lease;
mod signals;
mod start;
mod supervision;
mod terminal;
mod watchdog;

use std::ffi::OsString;
use std::process::ExitCode;

pub(crate) use self::child::{Status, reap_between_programs};
pub(crate) use self::signals::{End, Signals};
pub(crate) use self::supervision::{Ended, supervise};

/// Runs one of the helpers if this process is one, and returns its exit code.
pub(crate) fn helper() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next()?;
    let rest: Vec<OsString> = arguments.collect();
    if first == watchdog::NAME {
        Some(watchdog::run(&rest))
    } else if first == launch::NAME {
        Some(launch::run(&rest))
    } else if first == terminal::LISTENER {
        Some(terminal::listen())
    } else {
        None
    }
}
