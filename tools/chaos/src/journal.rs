//! The files of a process in the directory of its campaign: its part of the history, and the log of the campaign
//! itself.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::history::{Event, Process, Record, Source};
use crate::schedule::Fault;

/// The history of one process. Each record is a line that is written by one system call, so that a process that is
/// killed loses at most the line that it is writing.
#[derive(Clone, Debug)]
pub(crate) struct Journal(Arc<Mutex<File>>);

impl Journal {
    /// Creates the file of a source in the directory of the histories.
    pub(crate) fn create(directory: &Path, by: Source) -> io::Result<Self> {
        let file = File::create_new(directory.join(format!("history-{by}.{ENDING}")))?;
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

/// The log of a run, which its threads share: each fault with its time, for people and for the history.
#[derive(Clone, Debug)]
pub(crate) struct Chronicle {
    pub(crate) journal: Journal,
    pages: Arc<Mutex<Pages>>,
}

#[derive(Debug)]
struct Pages {
    started: Instant,
    file: File,
    faults: u64,
    /// The faults that could not be injected, by their kinds.
    failures: BTreeMap<String, usize>,
}

impl Chronicle {
    pub(crate) fn begin(directory: &Path) -> io::Result<Self> {
        let journal = Journal::create(directory, Source::Campaign)?;
        let file = File::create(directory.join("faults.log"))?;
        let pages = Pages { started: Instant::now(), file, faults: 0, failures: BTreeMap::new() };
        Ok(Self { journal, pages: Arc::new(Mutex::new(pages)) })
    }

    pub(crate) fn say(&self, text: &str) {
        self.with(|pages| pages.say(text));
    }

    /// Notes the beginning of a fault, with the choices that were made at run time, and returns its number.
    pub(crate) fn began(&self, fault: &Fault, found: &str) -> u64 {
        let kind = fault.kind;
        let number = self.with(|pages| {
            pages.faults += 1;
            pages.say(&format!("#{} {fault:?} {found}", pages.faults));
            pages.faults
        });
        self.note(Event::FaultBegan { fault: number, kind: kind.name() });
        number
    }

    pub(crate) fn ended(&self, number: u64) {
        self.note(Event::FaultEnded { fault: number });
        self.with(|pages| pages.say(&format!("#{number} ends")));
    }

    /// Notes that a fault could not be injected.
    pub(crate) fn failed(&self, fault: &Fault, error: &dyn std::error::Error) {
        self.say(&format!("{fault:?} failed: {error}"));
        self.with(|pages| *pages.failures.entry(fault.kind.name()).or_default() += 1);
    }

    pub(crate) fn note(&self, event: Event) {
        self.journal.note(Source::Campaign, event);
    }

    /// Returns the number of the faults that could not be injected, by their kinds.
    pub(crate) fn failures(&self) -> BTreeMap<String, usize> {
        self.with(|pages| pages.failures.clone())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Pages) -> T) -> T {
        act(&mut self.pages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Pages {
    fn say(&mut self, text: &str) {
        let line = format!("{:7.2} s  {text}", self.started.elapsed().as_secs_f64());
        println!("{line}");
        // The log is for people. The history has the faults too.
        let _ = writeln!(self.file, "{line}");
    }
}
