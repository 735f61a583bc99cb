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
}

impl Tool {
    /// Finds the installed program, and returns its path.
    ///
    /// It is searched for at `PROMTOOL`, the path of the program, and then on the `PATH`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoPromtool`], whose message names the package to install and the
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
        if let Some(given) = lookup(VARIABLE).filter(|value| !value.is_empty()) {
            let program = absolute(&given).map_err(Error::io("resolve the path of a program"))?;
            let bad = || Error::bad_location(VARIABLE, &given, "no program");
            return program.is_file().then_some(program).ok_or_else(bad);
        }
        env::split_paths(&lookup("PATH").unwrap_or_default())
            .filter_map(|directory| absolute(directory.join("promtool")).ok())
            .find(|program| program.is_file())
            .ok_or(Error::NoPromtool)
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
}

/// The variable with the path of the program.
const VARIABLE: &str = "PROMTOOL";
