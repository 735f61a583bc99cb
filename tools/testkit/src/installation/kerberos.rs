//! The search for the programs of Kerberos.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf, absolute};

use super::debian;
use crate::Error;

/// The location of the programs of MIT's Kerberos: those of a key distribution center, and `kinit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kerberos {
    kdc: PathBuf,
    database: PathBuf,
    admin: PathBuf,
    login: PathBuf,
}

impl Kerberos {
    /// Finds the installed programs.
    ///
    /// They are searched for in the directories of `KERBEROS_PATH`, which has the form of `PATH`, or else on the `PATH`,
    /// and then in `/usr/sbin`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoKerberos`], whose message names the packages to install and the variable to set, and
    /// [`Error::BadLocation`] if the variable is set and its directories do not have the programs.
    pub fn find() -> Result<Self, Error> {
        Self::find_with(|variable| env::var_os(variable))
    }

    /// Like [`find`](Self::find), but reads the environment variables through `lookup`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`find`](Self::find).
    pub fn find_with(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let set = |variable| lookup(variable).filter(|value: &OsString| !value.is_empty());
        let given = set(VARIABLE);
        let directories: Vec<_> = match &given {
            Some(given) => env::split_paths(given).collect(),
            None => {
                let path = lookup("PATH").unwrap_or_default();
                // A user's path has no programs for administrators.
                env::split_paths(&path).chain(["/usr/sbin".into()]).collect()
            }
        };
        let program = |name| {
            let paths = directories.iter().filter_map(|directory| absolute(directory.join(name)).ok());
            paths.into_iter().find(|path| path.is_file()).ok_or_else(|| match &given {
                Some(given) => Error::bad_location(VARIABLE, given, "not all programs of Kerberos"),
                None => Error::NoKerberos,
            })
        };
        Ok(Self {
            kdc: program("krb5kdc")?,
            database: program("kdb5_util")?,
            admin: program("kadmin.local")?,
            login: program("kinit")?,
        })
    }

    /// Finds the installed programs, or else installs Debian's packages, as
    /// [`Installation::find_or_install`](crate::Installation::find_or_install) does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`find`](Self::find), [`Error::Install`] if `apt-get` fails, and [`Error::Io`]
    /// if it cannot be run.
    pub fn find_or_install() -> Result<Self, Error> {
        debian::find_or_install(Self::find)
    }

    /// The program of the key distribution center, `krb5kdc`.
    pub fn kdc(&self) -> &Path {
        &self.kdc
    }

    pub(crate) fn database(&self) -> &Path {
        &self.database
    }

    pub(crate) fn admin(&self) -> &Path {
        &self.admin
    }

    pub(crate) fn login(&self) -> &Path {
        &self.login
    }
}

const VARIABLE: &str = "KERBEROS_PATH";
