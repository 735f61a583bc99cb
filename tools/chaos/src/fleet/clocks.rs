//! The clocks of processes.
//!
//! A process with a skewed clock loads a library of a few functions in front of the C library's. `libfaketime` 0.9.10
//! cannot stand in for it: with a rate, it gives the monotonic clock the values of the wall clock, so that waits for a
//! futex never time out.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The rate of a true clock, in thousandths.
pub(crate) const TRUE: u32 = 1_000;

/// The library that skews the clocks of a process.
#[derive(Clone, Debug)]
pub(crate) struct Skew(PathBuf);

impl Skew {
    /// Builds the library in this directory. Returns `None` without a C compiler.
    pub(crate) fn build(directory: &Path) -> io::Result<Option<Self>> {
        let (source, library) = (directory.join("skew.c"), directory.join("skew.so"));
        std::fs::write(&source, SOURCE)?;
        let compiler = std::env::var_os("CC").unwrap_or_else(|| OsString::from("cc"));
        let mut build = Command::new(compiler);
        build.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
        match build.stdin(Stdio::null()).status() {
            Ok(status) if status.success() => Ok(Some(Self(library))),
            Ok(status) => Err(io::Error::other(format!("the C compiler failed: {status}"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives a process a clock with this rate, in thousandths of the true one.
    pub(super) fn load(&self, rate: u32, command: &mut Command) {
        command.env("LD_PRELOAD", &self.0).env("CLOCK_RATE", rate.to_string());
    }
}

const SOURCE: &str = include_str!("clocks.c");

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::journal::now;

    const NAME: &str = "fleet::clocks::tests::the_clocks_and_the_waits_of_a_skewed_process_have_its_rate";
    /// Set in the process with the skewed clock, which is this test again.
    const INSIDE: &str = "ZKLOCK_CHAOS_IS_SKEWED";
    const WAIT: Duration = Duration::from_millis(500);

    #[test]
    fn the_clocks_and_the_waits_of_a_skewed_process_have_its_rate() {
        if std::env::var_os(INSIDE).is_some() {
            return print_true_length_of_a_wait();
        }
        let directory = tempfile::tempdir().unwrap();
        let skew = Skew::build(directory.path()).unwrap().expect("a linker of Rust is a C compiler");
        let waits = [500, 2_000].map(|rate| {
            let mut again = Command::new(std::env::current_exe().unwrap());
            skew.load(rate, again.args([NAME, "--exact", "--nocapture"]).env(INSIDE, "1"));
            let output = String::from_utf8(again.output().unwrap().stdout).unwrap();
            let wait = output.lines().find_map(|line| line.strip_prefix("waited ")).expect("it waits");
            Duration::from_nanos(wait.parse().unwrap())
        });
        // A wait ends late on a busy machine, and never early.
        assert!(waits[0] >= 2 * WAIT, "{waits:?}");
        assert!((WAIT / 2..WAIT).contains(&waits[1]), "{waits:?}");
    }

    fn print_true_length_of_a_wait() {
        let (begin, begin_true) = (Instant::now(), now());
        let nothing = Mutex::new(());
        drop(Condvar::new().wait_timeout_while(nothing.lock().unwrap(), WAIT, |()| true).unwrap());
        assert!(begin.elapsed() >= WAIT);
        println!("waited {}", now() - begin_true);
    }
}
