//! The class paths that environment variables name.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf, absolute};

use super::bad_location;
use crate::Error;

/// Returns the class path of an unpacked release.
///
/// A release keeps its jars in `lib`; before 3.5, ZooKeeper's own jar was one level above.
pub(super) fn release_classpath(home: &OsStr) -> Result<Vec<PathBuf>, Error> {
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

/// Returns whether a file is named like `zookeeper-3.9.3.jar`, rather than `zookeeper-jute-3.9.3.jar`.
fn is_server_jar(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let version = name.strip_prefix("zookeeper-").and_then(|rest| rest.strip_suffix(".jar"));
    version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
}

/// Returns the entries of a class path, made absolute because Java may run in another directory.
pub(super) fn given_classpath(variable: &'static str, classpath: &OsStr) -> Result<Vec<PathBuf>, Error> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_known_by_the_jar_of_the_server_and_gives_its_lib_directory() {
        let home = tempfile::tempdir().unwrap();
        let lib = home.path().join("lib");
        fs::create_dir(&lib).unwrap();
        for other in ["zookeeper-jute-3.9.3.jar", "zookeeper-3.9.3.txt"] {
            fs::write(lib.join(other), "").unwrap();
        }
        assert!(release_classpath(home.path().as_os_str()).is_err());
        fs::write(lib.join("zookeeper-3.9.3.jar"), "").unwrap();
        assert_eq!(release_classpath(home.path().as_os_str()).unwrap(), [lib.join("*")]);
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
