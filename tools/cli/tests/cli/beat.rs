//! A program that writes the time, over and over, until it is ended: this test binary, run for one of its tests.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use crate::signals::catch;
use crate::waiting::until;
use crate::zklock::Zklock;

const FILE: &str = "ZKLOCK_TEST_BEAT";
const DEAF: &str = "ZKLOCK_TEST_DEAF";

/// The reaction of the program to SIGTERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manners {
    Ends,
    Ignores,
    /// It is the child of a shell, and ignores what ends the shell.
    ChildIgnores,
}

/// The file into which the program writes.
pub(crate) struct Beat {
    _directory: TempDir,
    file: PathBuf,
}

impl Beat {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory is made");
        Self { file: directory.path().join("beat"), _directory: directory }
    }

    /// Adds the program to a command.
    pub(crate) fn under(&self, zklock: Zklock, manners: Manners) -> Zklock {
        let own = std::env::current_exe().expect("this program has a path");
        let zklock = zklock.env(FILE, &self.file);
        let zklock = if manners == Manners::Ends { zklock } else { zklock.env(DEAF, "yes") };
        let zklock = match manners {
            Manners::ChildIgnores => zklock.shell("\"$@\" & wait").arg("sh"),
            Manners::Ends | Manners::Ignores => zklock.arg("--"),
        };
        zklock.arg(own).arg("--exact").arg("beat::the_time_of_the_last_beat_is_read")
    }

    /// Returns the time of the last beat, on the clock of locks, and the process that beats.
    pub(crate) fn last(&self) -> Option<(Duration, i32)> {
        let bytes: [u8; 12] = std::fs::read(&self.file).ok()?.try_into().ok()?;
        let (time, pid) = bytes.split_at(8);
        let time = Duration::from_nanos(u64::from_le_bytes(time.try_into().ok()?));
        Some((time, i32::from_le_bytes(pid.try_into().ok()?)))
    }

    /// Waits until it beats, and returns its process.
    pub(crate) async fn begun(&self) -> i32 {
        until(async || self.last().is_some(), "the program beats").await;
        self.last().map(|(_, pid)| pid).unwrap()
    }
}

pub(crate) fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has the clock").into()
}

fn beat(file: &Path) -> std::io::Result<()> {
    let file = File::create(file)?;
    let pid = std::process::id().to_le_bytes();
    loop {
        let time = (now().as_nanos() as u64).to_le_bytes();
        file.write_all_at(&[&time[..], &pid].concat(), 0)?;
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_time_of_the_last_beat_is_read() {
    if let Some(file) = std::env::var_os(FILE) {
        if std::env::var_os(DEAF).is_some() {
            catch(Signal::SIGTERM);
        }
        beat(Path::new(&file)).unwrap();
    }
    let beat = Beat::new();
    assert_eq!(beat.last(), None);
    File::create(&beat.file).unwrap().write_all(&[1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]).unwrap();
    assert_eq!(beat.last(), Some((Duration::from_nanos(1), 7)));
}
