//! The search for ZooKeeper, Curator, Java, PostgreSQL, Kerberos and promtool on this machine, and their installation.
//!
//! This module may use only `error` and `packages`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf, absolute};

use crate::Error;

mod classpath;
mod curator;
mod debian;
mod kerberos;
mod postgresql;
mod tool;

use classpath::{given_classpath, release_classpath};
pub use curator::Curator;
pub use kerberos::Kerberos;
pub use postgresql::PostgreSql;
pub use tool::Tool;

/// The location of ZooKeeper's classes, and of the Java that runs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    java: PathBuf,
    classpath: Vec<PathBuf>,
}

impl Installation {
    /// Finds an installed ZooKeeper and Java.
    ///
    /// ZooKeeper is searched for at `ZOOKEEPER_HOME` (an unpacked release), then at `ZOOKEEPER_CLASSPATH`,
    /// then where Debian's package puts it. Java is searched for at `JAVA_HOME`, then on the `PATH`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoZooKeeper`] or [`Error::NoJava`], whose messages name the packages to install and
    /// the variables to set. A variable that is set but points to a place without the expected files is never
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
        let set = |variable| lookup(variable).filter(|value| !value.is_empty());
        let classpath = match (set("ZOOKEEPER_HOME"), set("ZOOKEEPER_CLASSPATH")) {
            (Some(home), _) => release_classpath(&home)?,
            (None, Some(classpath)) => given_classpath("ZOOKEEPER_CLASSPATH", &classpath)?,
            (None, None) => debian::classpath().ok_or(Error::NoZooKeeper)?,
        };
        Ok(Self { java: find_java(&lookup)?, classpath })
    }

    /// Finds an installed ZooKeeper, or else installs Debian's packages.
    ///
    /// Packages are installed only if ZooKeeper or Java is missing, `apt-get` exists and this process runs as
    /// root. One line on standard error announces the installation. Several processes may call this at once:
    /// one installs, the others wait.
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

/// Finds the `java` executable at `JAVA_HOME`, or else on the `PATH`.
fn find_java(lookup: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Error> {
    match lookup("JAVA_HOME").filter(|home| !home.is_empty()) {
        Some(home) => java_of(&home),
        None => java_on(&lookup("PATH").unwrap_or_default()).ok_or(Error::NoJava),
    }
}

fn java_of(home: &OsStr) -> Result<PathBuf, Error> {
    let java = absolute(home).map_err(Error::io("resolve JAVA_HOME"))?.join("bin/java");
    if java.is_file() { Ok(java) } else { Err(Error::bad_location("JAVA_HOME", home, "no `bin/java`")) }
}

fn java_on(path: &OsStr) -> Option<PathBuf> {
    let candidates = env::split_paths(path).filter_map(|directory| absolute(directory.join("java")).ok());
    candidates.into_iter().find(|java| java.is_file())
}
