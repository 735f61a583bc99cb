//! The files of a process in the directory of its campaign, its part of the history above all. Uses only `history`.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::time::{ClockId, clock_gettime};

use crate::history::{Event, Process, Record, Source};

/// The history of one process. Each record is a line that is written by one system call, so that a process that is
/// killed loses at most the line that it is writing.
#[derive(Clone, Debug)]
pub(crate) struct Journal(Arc<Mutex<File>>);

impl Journal {
    /// Creates the file of a source in the directory of the histories.
    pub(crate) fn create(directory: &Path, by: Source) -> io::Result<Self> {
        let file = File::create_new(path(directory, by))?;
        Ok(Self(Arc::new(Mutex::new(file))))
    }

    /// Notes an event that happens now.
    pub(crate) fn note(&self, by: Source, event: Event) {
        let line = Record { at: now(), by, event }.to_line() + "\n";
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A hold without a record could hide an overlap, so a process that cannot write ends.
        file.write_all(line.as_bytes()).expect("the history can be written");
    }
}

/// Returns the path of a source's file.
fn path(directory: &Path, by: Source) -> PathBuf {
    directory.join(format!("history-{by}.{ENDING}"))
}

/// Returns the path of the file that a process makes when it has given all locks back.
pub(crate) fn at_rest(directory: &Path, process: Process) -> PathBuf {
    directory.join(format!("rest-{process}"))
}

/// The ending of the names of the files.
pub(crate) const ENDING: &str = "jsonl";

/// Returns the nanoseconds since the machine was started, by the clock that all of its processes share, and that includes
/// the time during which the machine sleeps.
///
/// It is read without libc, so that a process with a skewed clock reads the true one.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or_default() * 1_000_000_000 + nanoseconds.unwrap_or_default()
}
