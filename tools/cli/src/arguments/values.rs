//! The values of options.

use std::time::Duration;

use clap::ValueEnum;

/// A side of a read-write lock.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Side {
    /// Held together with other readers
    Read,
    /// Held alone
    Write,
}

/// The reaction of a program's process group to the loss of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLost {
    /// SIGTERM, and SIGKILL before another can hold the lock
    Term,
    /// SIGKILL, before another can hold the lock
    Kill,
    /// None: the program runs to its end, while another may hold the lock
    Continue,
}

/// The reaction of a program's process group to the loss of leadership. It always ends: the program must not run twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnDeposed {
    /// SIGTERM, and SIGKILL before another can lead
    Term,
    /// SIGKILL, before another can lead
    Kill,
}

impl From<OnDeposed> for OnLost {
    fn from(on_deposed: OnDeposed) -> Self {
        match on_deposed {
            OnDeposed::Term => Self::Term,
            OnDeposed::Kill => Self::Kill,
        }
    }
}

/// The place where a server for development keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keeps {
    /// Nowhere
    None,
}

pub(super) fn interval(text: &str) -> Result<Duration, String> {
    between(text, Duration::from_millis(10), Duration::MAX)
}

pub(super) fn tick(text: &str) -> Result<Duration, String> {
    between(text, Duration::from_millis(1), Duration::from_secs(3_600))
}

pub(super) fn period(text: &str) -> Result<Duration, String> {
    between(text, Duration::from_millis(1), Duration::MAX)
}

/// Reads a duration within these bounds.
fn between(text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match duration {
        short if short < least => Err(format!("it must be at least {}", humantime::format_duration(least))),
        long if long > most => Err(format!("it must be at most {}", humantime::format_duration(most))),
        fits => Ok(fits),
    }
}
