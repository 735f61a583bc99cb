//! Servers as kazoo sees them, a client in Python that knows nothing of zklock.
//!
//! Where there is no Python, the test says so and ends well, as does `cargo xtask test`. Where there is one, it
//! fails rather than skips: without `venv` and pip, without a package index, and on any disagreement.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use zklock_testkit::{EmbeddedServer, ZooKeeper};

/// A pinned version, so that a new one cannot break a build that was fine.
const KAZOO: &str = "2.11.0";

const CHECKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kazoo/checks.py");

#[test]
fn kazoo_finds_nothing_wrong() {
    if Command::new("python3").arg("--version").output().is_err() {
        // Not by a macro, whose output the test harness would swallow.
        writeln!(io::stderr(), "there is no python3: kazoo's checks are left out").unwrap();
        return;
    }
    let python = python_with_kazoo();
    check(&python, EmbeddedServer::start().unwrap().address());
    check(&python, ZooKeeper::start().unwrap().address());
}

fn check(python: &Path, server: SocketAddr) {
    let output = run(Command::new(python).arg(CHECKS).arg(server.to_string()));
    assert!(output.ends_with("kazoo: all ok\n"), "{output}");
}

/// Gives the Python of a virtual environment that has kazoo, and makes it if it is not there yet or is broken.
fn python_with_kazoo() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let environment = place.join(format!("kazoo-{KAZOO}"));
    let python = environment.join("bin/python");
    // Another run of the tests may be at it.
    let lock = File::create(place.join("kazoo.lock")).unwrap();
    lock.lock().unwrap();
    if !has_kazoo(&python) {
        fs::remove_dir_all(&environment).or_else(missing_is_fine).unwrap();
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment));
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", &format!("kazoo=={KAZOO}")]));
        assert!(has_kazoo(&python), "pip has not installed kazoo {KAZOO}");
    }
    python
}

fn has_kazoo(python: &Path) -> bool {
    let version = Command::new(python).args(["-c", "import kazoo; print(kazoo.__version__)"]).output();
    version.is_ok_and(|output| output.stdout.trim_ascii() == KAZOO.as_bytes())
}

fn missing_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Runs a command, which must end well, and gives what it printed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?} failed: {}\n{printed}{errors}", output.status);
    printed
}
