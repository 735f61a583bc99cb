//! The directory of a real server.
//!
//! This module may use only `supervisor`.

use std::fs;
use std::io;

use tempfile::TempDir;

use crate::supervisor::DIRECTORY_PREFIX;

/// Creates a directory with the settings of the loggers.
pub(super) fn create() -> io::Result<TempDir> {
    let parent = std::path::absolute(std::env::temp_dir())?;
    let directory = tempfile::Builder::new().prefix(DIRECTORY_PREFIX).tempdir_in(parent)?;
    let log = directory.path().join("log");
    fs::create_dir(&log)?;
    for (name, content) in LOG_SETTINGS {
        fs::write(log.join(name), content)?;
    }
    Ok(directory)
}

/// The settings of the loggers that ZooKeeper may have: Debian's, that of 3.8 and later, and the older one.
const LOG_SETTINGS: [(&str, &str); 3] = [
    ("simplelogger.properties", include_str!("log/simplelogger.properties")),
    ("logback.xml", include_str!("log/logback.xml")),
    ("log4j.properties", include_str!("log/log4j.properties")),
];
