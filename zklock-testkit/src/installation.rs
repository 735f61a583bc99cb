use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf, absolute};

use crate::Error;

mod curator;
mod debian;

pub use curator::Curator;
pub(crate) use debian::{CURATOR_PACKAGE, JAVA_PACKAGE, SERVER_PACKAGE};

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

/// A release keeps its jars in `lib`; before 3.5 its own jar was one level above.
fn release_classpath(home: &OsStr) -> Result<Vec<PathBuf>, Error> {
    let root = absolute(home).map_err(Error::io("resolve ZOOKEEPER_HOME"))?;
    let lib = root.join("lib");
    let mut classpath = server_jars(&root);
    if classpath.is_empty() && server_jars(&lib).is_empty() {
        let missing = "no `zookeeper-*.jar` and no `lib/zookeeper-*.jar`";
        return Err(bad_location("ZOOKEEPER_HOME", home, missing));
    }
    classpath.push(lib.join("*"));
    Ok(classpath)
}

fn server_jars(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| is_server_jar(path)).collect()
}

/// Tells `zookeeper-3.9.3.jar` from `zookeeper-jute-3.9.3.jar`.
fn is_server_jar(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let version = name.strip_prefix("zookeeper-").and_then(|rest| rest.strip_suffix(".jar"));
    version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
}

/// The entries are made absolute because Java may run in another directory.
fn given_classpath(variable: &'static str, classpath: &OsStr) -> Result<Vec<PathBuf>, Error> {
    let entries: Vec<PathBuf> =
        env::split_paths(classpath).filter_map(|entry| absolute(entry).ok()).collect();
    if !entries.iter().any(|entry| is_present(entry)) {
        return Err(bad_location(variable, classpath, "no jar and no directory"));
    }
    Ok(entries)
}

fn is_present(entry: &Path) -> bool {
    let wildcard = entry.file_name().is_some_and(|name| name == "*");
    entry.exists() || (wildcard && entry.parent().is_some_and(Path::is_dir))
}

fn find_java(lookup: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Error> {
    match lookup("JAVA_HOME").filter(|home| !home.is_empty()) {
        Some(home) => java_of(&home),
        None => java_on(&lookup("PATH").unwrap_or_default()).ok_or(Error::NoJava),
    }
}

fn java_of(home: &OsStr) -> Result<PathBuf, Error> {
    let java = absolute(home).map_err(Error::io("resolve JAVA_HOME"))?.join("bin/java");
    if java.is_file() { Ok(java) } else { Err(bad_location("JAVA_HOME", home, "no `bin/java`")) }
}

fn java_on(path: &OsStr) -> Option<PathBuf> {
    let candidates = env::split_paths(path).filter_map(|directory| absolute(directory.join("java")).ok());
    candidates.into_iter().find(|java| java.is_file())
}

fn bad_location(variable: &'static str, value: &OsStr, missing: &'static str) -> Error {
    Error::BadLocation { variable, value: value.to_string_lossy().into_owned(), missing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_jar_of_the_server_counts() {
        assert!(is_server_jar(Path::new("lib/zookeeper-3.9.3.jar")));
        assert!(!is_server_jar(Path::new("lib/zookeeper-jute-3.9.3.jar")));
        assert!(!is_server_jar(Path::new("lib/zookeeper-3.9.3.txt")));
    }

    #[test]
    fn a_release_gives_its_lib_directory() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("lib")).unwrap();
        fs::write(home.path().join("lib/zookeeper-3.9.3.jar"), "").unwrap();
        assert_eq!(release_classpath(home.path().as_os_str()).unwrap(), [home.path().join("lib/*")]);
    }

    #[test]
    fn a_class_path_may_use_the_wildcard_and_name_jars_that_are_missing() {
        let directory = tempfile::tempdir().unwrap();
        let wildcard = directory.path().join("*");
        let missing = directory.path().join("missing.jar");
        let classpath = env::join_paths([&wildcard, &missing]).unwrap();
        assert_eq!(given_classpath("ZOOKEEPER_CLASSPATH", &classpath).unwrap(), [wildcard, missing]);
    }
}
