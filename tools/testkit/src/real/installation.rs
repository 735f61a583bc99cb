//! The search for ZooKeeper, Curator, Java, PostgreSQL, Kerberos and promtool on this machine, and their installation.
//!
//! Each search looks at the places that environment variables name, and then where Debian's packages put the files. A
//! variable that is set but points to a place without the expected files is never skipped silently: it is an
//! [`Error::BadLocation`].

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf, absolute};

use crate::Error;

mod classpath;
mod debian;

use classpath::{given_classpath, release_classpath};

/// Implements the searches in the environment of this process for types that have one in any environment.
macro_rules! search {
    ($($type:ident)*) => {$(
        impl $type {
            /// Searches as [`find_with`](Self::find_with) does, with the environment variables of this process.
            pub fn find() -> Result<Self, Error> {
                Self::find_with(|variable| env::var_os(variable))
            }

            /// Finds what is installed, or else installs Debian's packages.
            ///
            /// Packages are installed only if something is missing, `apt-get` exists and this process runs as
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
        }
    )*};
}

search!(Installation Curator PostgreSql Kerberos Promtool);

/// The location of ZooKeeper's classes, and of the Java that runs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    java: PathBuf,
    classpath: Vec<PathBuf>,
}

impl Installation {
    /// Finds an installed ZooKeeper and Java by the environment variables that `lookup` returns.
    ///
    /// ZooKeeper is searched for at `ZOOKEEPER_HOME` (an unpacked release), then at `ZOOKEEPER_CLASSPATH`,
    /// then where Debian's package puts it. Java is searched for at `JAVA_HOME`, then on the `PATH`.
    pub fn find_with(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let classpath = match (set(&lookup, "ZOOKEEPER_HOME"), set(&lookup, "ZOOKEEPER_CLASSPATH")) {
            (Some(home), _) => release_classpath(&home)?,
            (None, Some(classpath)) => given_classpath("ZOOKEEPER_CLASSPATH", &classpath)?,
            (None, None) => debian::classpath().ok_or(NO_ZOOKEEPER)?,
        };
        Ok(Self { java: find_java(&lookup)?, classpath })
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
    /// Finds an installed Curator and Java by the environment variables that `lookup` returns.
    ///
    /// Curator is searched for at `CURATOR_CLASSPATH`, which names its jars and those that they need, and
    /// then where Debian's package puts it. Java is searched for at `JAVA_HOME`, then on the `PATH`.
    pub fn find_with(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let classpath = match set(&lookup, CURATOR) {
            Some(classpath) => given_classpath(CURATOR, &classpath)?,
            None => debian::curator_classpath().ok_or(NO_CURATOR)?,
        };
        Ok(Self { java: find_java(&lookup)?, classpath })
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

/// The location of the programs of PostgreSQL.
///
/// PostgreSQL is a store that zklock's tests protect with fencing tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgreSql {
    programs: PathBuf,
}

impl PostgreSql {
    /// Finds an installed PostgreSQL by the environment variables that `lookup` returns.
    ///
    /// Its programs are searched for in the directory `POSTGRESQL_BIN`, then where Debian's packages put them,
    /// the latest version first, and then on the `PATH`.
    pub fn find_with(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let has_programs = |directory: &PathBuf| {
            ["initdb", "postgres"].iter().all(|program| directory.join(program).is_file())
        };
        let given = set(&lookup, POSTGRESQL);
        let places = match &given {
            Some(given) => vec![given.into()],
            None => debian::postgresql_programs().into_iter().chain(path(&lookup)).collect(),
        };
        let places = places.into_iter().filter_map(|directory| absolute(directory).ok());
        let programs = places.into_iter().find(has_programs).ok_or_else(|| match &given {
            Some(given) => bad_location(POSTGRESQL, given, "no `initdb` and no `postgres`"),
            None => NO_POSTGRESQL,
        })?;
        Ok(Self { programs })
    }

    /// The directory that contains `initdb` and `postgres`.
    pub fn programs(&self) -> &Path {
        &self.programs
    }
}

/// The location of the programs of MIT's Kerberos: those of a key distribution center, and `kinit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kerberos {
    kdc: PathBuf,
    pub(super) database: PathBuf,
    pub(super) admin: PathBuf,
    pub(super) login: PathBuf,
}

impl Kerberos {
    /// Finds the installed programs by the environment variables that `lookup` returns.
    ///
    /// They are searched for in the directories of `KERBEROS_PATH`, which has the form of `PATH`, or else on the `PATH`,
    /// and then in `/usr/sbin`.
    pub fn find_with(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let given = set(&lookup, KERBEROS);
        let directories: Vec<_> = match &given {
            Some(given) => env::split_paths(given).collect(),
            // A user's path has no programs for administrators.
            None => path(&lookup).into_iter().chain(["/usr/sbin".into()]).collect(),
        };
        let program = |name| {
            program_in(&directories, name).ok_or_else(|| match &given {
                Some(given) => bad_location(KERBEROS, given, "not all programs of Kerberos"),
                None => NO_KERBEROS,
            })
        };
        Ok(Self {
            kdc: program("krb5kdc")?,
            database: program("kdb5_util")?,
            admin: program("kadmin.local")?,
            login: program("kinit")?,
        })
    }

    /// The program of the key distribution center, `krb5kdc`.
    pub fn kdc(&self) -> &Path {
        &self.kdc
    }
}

/// The location of `promtool`, the program of Prometheus that checks metrics and alert rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promtool {
    program: PathBuf,
}

impl Promtool {
    /// Finds the installed program by the environment variables that `lookup` returns.
    ///
    /// It is searched for at `PROMTOOL`, the path of the program, and then on the `PATH`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Missing`], or [`Error::BadLocation`] if the variable is set and names no file.
    pub fn find_with(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let program = match set(&lookup, PROMTOOL) {
            None => program_in(&path(&lookup), "promtool").ok_or(NO_PROMTOOL)?,
            Some(given) => {
                let program = absolute(&given).map_err(Error::io("resolve the path of a program"))?;
                let is_there = program.is_file();
                is_there.then_some(program).ok_or_else(|| bad_location(PROMTOOL, &given, "no program"))?
            }
        };
        Ok(Self { program })
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

const NO_ZOOKEEPER: Error = missing(
    "ZooKeeper server",
    debian::ZOOKEEPER,
    "ZOOKEEPER_HOME to the directory of an unpacked release, or ZOOKEEPER_CLASSPATH to the jars of one",
);
const NO_CURATOR: Error =
    missing("Curator", debian::CURATOR, "CURATOR_CLASSPATH to its jars and those that they need");
const NO_POSTGRESQL: Error =
    missing("PostgreSQL", debian::POSTGRESQL, "POSTGRESQL_BIN to the directory of its programs");
const NO_KERBEROS: Error = missing(
    "Kerberos",
    debian::KERBEROS,
    "KERBEROS_PATH to the directories of krb5kdc, kdb5_util, kadmin.local and kinit",
);
const NO_PROMTOOL: Error = missing("promtool", debian::PROMETHEUS, "PROMTOOL to the path of the program");
const NO_JAVA: Error = missing("`java` to run ZooKeeper", debian::JAVA, "JAVA_HOME");
const CURATOR: &str = "CURATOR_CLASSPATH";
const KERBEROS: &str = "KERBEROS_PATH";
const POSTGRESQL: &str = "POSTGRESQL_BIN";
const PROMTOOL: &str = "PROMTOOL";

const fn missing(what: &'static str, packages: &'static [&'static str], variables: &'static str) -> Error {
    Error::Missing { what, packages, variables }
}

/// Finds the `java` executable at `JAVA_HOME`, or else on the `PATH`.
fn find_java(lookup: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Error> {
    let Some(home) = set(&lookup, "JAVA_HOME") else {
        return program_in(&path(&lookup), "java").ok_or(NO_JAVA);
    };
    let java = absolute(&home).map_err(Error::io("resolve JAVA_HOME"))?.join("bin/java");
    if java.is_file() { Ok(java) } else { Err(bad_location("JAVA_HOME", &home, "no `bin/java`")) }
}

/// Returns the value of a variable that is set and not empty.
fn set(lookup: impl Fn(&str) -> Option<OsString>, variable: &str) -> Option<OsString> {
    lookup(variable).filter(|value| !value.is_empty())
}

/// Returns the directories of the `PATH`.
fn path(lookup: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    env::split_paths(&lookup("PATH").unwrap_or_default()).collect()
}

fn program_in(directories: &[PathBuf], name: &str) -> Option<PathBuf> {
    let programs = directories.iter().filter_map(|directory| absolute(directory.join(name)).ok());
    programs.into_iter().find(|program| program.is_file())
}

fn bad_location(variable: &'static str, value: &OsStr, missing: &'static str) -> Error {
    Error::BadLocation { variable, value: value.to_string_lossy().into_owned(), missing }
}
