//! The search for a Java runtime.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{PathBuf, absolute};

use crate::Error;

/// Finds the `java` executable at `JAVA_HOME`, or else on the `PATH`.
pub(super) fn find_java(lookup: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Error> {
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
