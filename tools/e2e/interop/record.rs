//! The shared file in which contenders of both languages record when they enter and leave their critical
//! sections, and the check of that file.
//!
//! A line is appended while the lock is held, so sections that overlap in the file did overlap.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

pub(crate) struct Record {
    file: NamedTempFile,
}

impl Record {
    pub(crate) fn new() -> Self {
        Self { file: NamedTempFile::new().expect("a file is created") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(crate) fn diary(&self, name: &str) -> Diary {
        Diary::new(self.path(), name)
    }

    /// Returns the number of sections entered so far, and the contender that entered the last one.
    pub(crate) fn latest(&self) -> (usize, Option<String>) {
        let record = fs::read_to_string(self.path()).expect("the file is there");
        let mut entered = record.lines().filter_map(|line| line.strip_prefix("enter ")?.split_once(' '));
        (entered.clone().count(), entered.next_back().map(|(name, _)| name.to_owned()))
    }

    /// Returns the number of sections of each contender, or an error if a contender was inside that must not
    /// be.
    pub(crate) fn check(&self, permits: usize) -> Result<BTreeMap<String, usize>, String> {
        check(&fs::read_to_string(self.path()).expect("the file is there"), permits)
    }
}

pub(crate) struct Diary {
    path: PathBuf,
    pub(crate) name: String,
}

impl Diary {
    pub(crate) fn new(record: &Path, name: &str) -> Self {
        Self { path: record.to_owned(), name: name.to_owned() }
    }

    pub(crate) fn enter(&self, mode: &str) {
        self.write("enter", mode);
    }

    /// Goes on in another mode. Call this before the mode changes, so that no other contender appears to
    /// enter too early.
    pub(crate) fn turn_into(&self, mode: &str) {
        self.write("become", mode);
    }

    pub(crate) fn leave(&self, mode: &str) {
        self.write("leave", mode);
    }

    /// Stays in a critical section for this long, and until this many sections have been entered in total.
    pub(crate) async fn stay(&self, length: Duration, gathering: usize) {
        loop {
            tokio::time::sleep(length).await;
            let record = fs::read_to_string(&self.path).expect("the file is there");
            if record.lines().filter(|line| line.starts_with("enter")).count() >= gathering {
                return;
            }
        }
    }

    fn write(&self, step: &str, mode: &str) {
        let mut file = OpenOptions::new().append(true).open(&self.path).expect("the file is there");
        file.write_all(format!("{step} {} {mode}\n", self.name).as_bytes()).expect("the file grows");
    }
}

/// Checks a record. Readers may be inside with readers, and writers and exclusive holders only alone. A mode
/// that is a number is the number of permits held, and all holders together have no more than there are.
fn check(record: &str, permits: usize) -> Result<BTreeMap<String, usize>, String> {
    let mut inside: HashMap<&str, &str> = HashMap::new();
    let mut sections = BTreeMap::new();
    for (index, line) in record.lines().enumerate() {
        let words: Vec<_> = line.split(' ').collect();
        let [step, name, mode] = words[..] else { return Err(format!("line {index} is `{line}`")) };
        if !follow(&mut inside, [step, name, mode], permits) {
            return Err(format!("line {index} is `{line}`, with {inside:?} inside"));
        }
        if step == "enter" {
            *sections.entry(name.to_owned()).or_default() += 1;
        }
    }
    if inside.is_empty() { Ok(sections) } else { Err(format!("{inside:?} are still inside")) }
}

fn follow<'a>(inside: &mut HashMap<&'a str, &'a str>, line: [&'a str; 3], permits: usize) -> bool {
    let [step, name, mode] = line;
    match (step, inside.remove(name)) {
        ("enter", None) if may_enter(mode, inside, permits) => inside.insert(name, mode).is_none(),
        ("become", Some("write")) if mode == "read" => inside.insert(name, mode).is_none(),
        ("leave", Some(held)) => held == mode,
        _ => false,
    }
}

fn may_enter(mode: &str, inside: &HashMap<&str, &str>, permits: usize) -> bool {
    match mode.parse::<usize>() {
        Ok(wanted) => {
            wanted + inside.values().map(|held| held.parse().unwrap_or(permits)).sum::<usize>() <= permits
        }
        Err(_) if mode == "read" => inside.values().all(|held| *held == "read"),
        Err(_) => inside.is_empty(),
    }
}

#[test]
fn an_overlap_is_found() {
    let overlapping = ["exclusive exclusive", "write read", "read write", "2 2", "3 1", "1 3"];
    for modes in overlapping {
        let (one, other) = modes.split_once(' ').unwrap();
        let record = format!("enter a {one}\nenter b {other}\nleave a {one}\nleave b {other}\n");
        assert!(check(&record, 3).is_err_and(|error| error.starts_with("line 1")), "{modes}");
    }
    for modes in ["read read", "2 1", "1 2", "1 1"] {
        let (one, other) = modes.split_once(' ').unwrap();
        let record = format!("enter a {one}\nenter b {other}\nleave a {one}\nleave b {other}\n");
        assert_eq!(check(&record, 3).unwrap(), BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 1)]));
    }
}
