//! The log of a run: each fault with its time, for people and for the history. Uses only `journal` and `schedule`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::history::{Event, Source};

use crate::journal::Journal;
use crate::schedule::Fault;

/// The log, which the threads of a run share.
#[derive(Clone, Debug)]
pub(crate) struct Chronicle {
    pub(crate) journal: Journal,
    started: Instant,
    pages: Arc<Mutex<Pages>>,
}

#[derive(Debug)]
struct Pages {
    file: File,
    faults: u64,
    /// The faults that could not be injected, by their kinds.
    failures: BTreeMap<String, usize>,
}

impl Chronicle {
    pub(crate) fn begin(directory: &Path) -> io::Result<Self> {
        let journal = Journal::create(directory, Source::Campaign)?;
        let file = File::create(directory.join("faults.log"))?;
        let pages = Pages { file, faults: 0, failures: BTreeMap::new() };
        Ok(Self { journal, started: Instant::now(), pages: Arc::new(Mutex::new(pages)) })
    }

    /// Writes a line.
    pub(crate) fn say(&self, text: &str) {
        self.with(|pages| pages.say(self.started, text));
    }

    /// Notes the beginning of a fault, with the choices that were made at run time, and returns its number.
    pub(crate) fn began(&self, fault: &Fault, found: &str) -> u64 {
        let kind = fault.kind;
        let number = self.with(|pages| {
            pages.faults += 1;
            pages.say(self.started, &format!("#{} {fault:?} {found}", pages.faults));
            pages.faults
        });
        let description = format!("{fault:?} {found}").trim().to_owned();
        self.note(Event::FaultBegan { fault: number, kind: kind.name(), description });
        number
    }

    /// Notes the end of a fault.
    pub(crate) fn ended(&self, number: u64) {
        self.note(Event::FaultEnded { fault: number });
        self.with(|pages| pages.say(self.started, &format!("#{number} ends")));
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
    fn say(&mut self, started: Instant, text: &str) {
        let line = format!("{:7.2} s  {text}", started.elapsed().as_secs_f64());
        println!("{line}");
        // The log is for people. The history has the faults too.
        let _ = writeln!(self.file, "{line}");
    }
}
