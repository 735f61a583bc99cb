use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::Error;

mod classpath;
mod curator;
mod debian;
mod java;

use classpath::{given_classpath, release_classpath};
pub use curator::Curator;
use java::find_java;

/// Where a ZooKeeper's classes are, and the Java that runs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    java: PathBuf,
    classpath: Vec<PathBuf>,
}

impl Installation {
    /// Finds an installed ZooKeeper and Java.
    ///
    /// ZooKeeper is looked for at `ZOOKEEPER_HOME` (an unpacked release), then at `ZOOKEEPER_CLASSPATH`, then
    /// where Debian's package puts it; Java at `JAVA_HOME`, then on the `PATH`.
    ///
    /// # Errors
    ///
    /// [`Error::NoZooKeeper`] or [`Error::NoJava`] say what to install or to set. A variable that is set but
    /// points to nothing useful is [`Error::BadLocation`]: it is never skipped in silence.
    pub fn find() -> Result<Self, Error> {
        Self::find_with(|variable| env::var_os(variable))
    }

    /// Like [`find`](Self::find), but reads the environment variables through `lookup`.
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find).
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
    /// It installs only when nothing is installed, `apt-get` exists and this process runs as root; it says so
    /// in one line on standard error. Several processes may call it at once: one installs, the others wait.
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find), [`Error::Install`] when `apt-get` fails, and [`Error::Io`] when it
    /// cannot be run.
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
