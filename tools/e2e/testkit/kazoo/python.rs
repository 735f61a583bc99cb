//! A Python that has kazoo. There must be one with `venv` and pip, and a package index.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pinned, so that a new version cannot break a build that worked.
const KAZOO: &str = "2.11.0";

/// Returns the Python of a virtual environment with kazoo, which is created if it is missing or broken.
pub(crate) fn python_with_kazoo() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let environment = place.join(format!("kazoo-{KAZOO}"));
    let python = environment.join("bin/python");
    // Another test run may use the environment at the same time.
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

/// Runs a command, which must succeed, and returns its output.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?} failed: {}\n{printed}{errors}", output.status);
    printed
}
