//! The search for installed programs that tests use beside ZooKeeper.

use std::env;
use std::ffi::OsString;
use std::path::{PathBuf, absolute};

use super::debian;
use crate::Error;

/// A program that tests use beside ZooKeeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tool {
    /// `promtool`, the program of Prometheus that checks metrics and alert rules.
    Promtool,
    /// `tmux`, a terminal whose screen can be read.
    Tmux,
}

impl Tool {
    /// Finds the installed program, and returns its path.
    ///
    /// It is searched for at `PROMTOOL` or `TMUX_PROGRAM`, the path of the program, and then on the `PATH`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoPromtool`] or [`Error::NoTmux`], whose messages name the package to install and the
    /// variable to set, and [`Error::BadLocation`] if the variable is set and names no file.
    pub fn find(self) -> Result<PathBuf, Error> {
        self.find_with(|variable| env::var_os(variable))
    }

    /// Like [`find`](Self::find), but reads the environment variables through `lookup`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`find`](Self::find).
    pub fn find_with(self, lookup: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Error> {
        let (variable, name) = self.names();
        if let Some(given) = lookup(variable).filter(|value| !value.is_empty()) {
            let program = absolute(&given).map_err(Error::io("resolve the path of a program"))?;
            let bad = || Error::bad_location(variable, &given, "no program");
            return program.is_file().then_some(program).ok_or_else(bad);
        }
        env::split_paths(&lookup("PATH").unwrap_or_default())
            .filter_map(|directory| absolute(directory.join(name)).ok())
            .find(|program| program.is_file())
            .ok_or_else(|| self.missing())
    }

    /// Finds the installed program, or else installs Debian's package, as
    /// [`Installation::find_or_install`](crate::Installation::find_or_install) does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`find`](Self::find), [`Error::Install`] if `apt-get` fails, and [`Error::Io`]
    /// if it cannot be run.
    pub fn find_or_install(self) -> Result<PathBuf, Error> {
        debian::find_or_install(|| self.find())
    }

    /// Returns the variable with the path of the program, and the name of its file.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Promtool => ("PROMTOOL", "promtool"),
            // Each shell inside of tmux has `TMUX`, with another meaning.
            Self::Tmux => ("TMUX_PROGRAM", "tmux"),
        }
    }

    fn missing(self) -> Error {
        match self {
            Self::Promtool => Error::NoPromtool,
            Self::Tmux => Error::NoTmux,
        }
    }
}
