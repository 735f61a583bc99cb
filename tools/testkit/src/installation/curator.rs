//! The search for an installed Apache Curator.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::classpath::given_classpath;
use super::debian;
use super::find_java;
use crate::Error;

/// The location of the classes of Apache Curator, and of the Java that runs them.
///
/// Curator has the Java locks that zklock's locks contend with. A program in a single source file runs with
/// `java -cp CLASSPATH FILE`, which requires a JDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curator {
    java: PathBuf,
    classpath: Vec<PathBuf>,
}

impl Curator {
    /// Finds an installed Curator and Java.
    ///
    /// Curator is searched for at `CURATOR_CLASSPATH`, which names its jars and those that they need, and
    /// then where Debian's package puts it. Java is searched for at `JAVA_HOME`, then on the `PATH`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoCurator`] or [`Error::NoJava`], whose messages name the packages to install and the
    /// variables to set. A variable that is set but points to a place without the expected files is never
    /// skipped silently: it is an [`Error::BadLocation`].
    pub fn find() -> Result<Self, Error> {
        Self::find_with(|variable| env::var_os(variable))
    }

    /// Like [`find`](Self::find), but reads the environment variables through `lookup`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`find`](Self::find).
    pub fn find_with(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let classpath = match lookup(VARIABLE).filter(|value| !value.is_empty()) {
            Some(classpath) => given_classpath(VARIABLE, &classpath)?,
            None => debian::curator_classpath().ok_or(Error::NoCurator)?,
        };
        Ok(Self { java: find_java(&lookup)?, classpath })
    }

    /// Finds an installed Curator, or else installs Debian's packages, as
    /// [`Installation::find_or_install`](crate::Installation::find_or_install) does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`find`](Self::find), [`Error::Install`] if `apt-get` fails, and [`Error::Io`]
    /// if it cannot be run.
    pub fn find_or_install() -> Result<Self, Error> {
        debian::find_or_install(Self::find)
    }

    /// The `java` executable.
    pub fn java(&self) -> &Path {
        &self.java
    }

    /// The entries of the class path; an entry may end in Java's wildcard `*`.
    pub fn classpath(&self) -> &[PathBuf] {
        &self.classpath
    }
}

const VARIABLE: &str = "CURATOR_CLASSPATH";
