//! The search for an installed PostgreSQL.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf, absolute};

use super::debian;
use crate::Error;

/// The location of the programs of PostgreSQL.
///
/// PostgreSQL is a store that zklock's tests protect with fencing tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgreSql {
    programs: PathBuf,
}

impl PostgreSql {
    /// Finds an installed PostgreSQL.
    ///
    /// Its programs are searched for in the directory `POSTGRESQL_BIN`, then where Debian's packages put them,
    /// the latest version first, and then on the `PATH`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoPostgreSql`], whose message names the package to install and the variable to set, and
    /// [`Error::BadLocation`] if the variable is set and its directory does not have the programs.
    pub fn find() -> Result<Self, Error> {
        Self::find_with(|variable| env::var_os(variable))
    }

    /// Like [`find`](Self::find), but reads the environment variables through `lookup`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`find`](Self::find).
    pub fn find_with(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let programs = match lookup(VARIABLE).filter(|value| !value.is_empty()) {
            Some(given) => {
                let programs = absolute(&given).map_err(Error::io("resolve POSTGRESQL_BIN"))?;
                let bad = || Error::bad_location(VARIABLE, &given, "no `initdb` and no `postgres`");
                has_programs(&programs).then_some(programs).ok_or_else(bad)?
            }
            None => debian::postgresql_programs()
                .into_iter()
                .chain(env::split_paths(&lookup("PATH").unwrap_or_default()))
                .filter_map(|directory| absolute(directory).ok())
                .find(|directory| has_programs(directory))
                .ok_or(Error::NoPostgreSql)?,
        };
        Ok(Self { programs })
    }

    /// Finds an installed PostgreSQL, or else installs Debian's package, as
    /// [`Installation::find_or_install`](crate::Installation::find_or_install) does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`find`](Self::find), [`Error::Install`] if `apt-get` fails, and [`Error::Io`]
    /// if it cannot be run.
    pub fn find_or_install() -> Result<Self, Error> {
        debian::find_or_install(Self::find)
    }

    /// The directory that contains `initdb` and `postgres`.
    pub fn programs(&self) -> &Path {
        &self.programs
    }
}

fn has_programs(directory: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|program| directory.join(program).is_file())
}

const VARIABLE: &str = "POSTGRESQL_BIN";
