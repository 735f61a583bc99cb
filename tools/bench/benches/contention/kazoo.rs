//! Mutexes with kazoo, in Python processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Failure;
use crate::options::{Options, name};
use crate::other::line;

/// Runs `contention.py` and returns its line.
pub(crate) fn measure(options: &Options, server: &str, namespace: &str) -> Result<String, Failure> {
    let until = match options.seconds {
        Some(time) => format!("seconds={}", time.as_secs_f64()),
        None => format!("iterations={}", options.iterations),
    };
    let mut command = Command::new(python()?);
    command
        .arg(SOURCE)
        .arg(format!("server={server}"))
        .arg(format!("namespace={namespace}"))
        .arg(format!("scenario={}", name(&options.scenario)))
        .arg(format!("sessions={}", options.sessions))
        .arg(format!("tasks={}", options.tasks))
        .arg(format!("shared={}", options.is_shared()))
        .arg(until);
    line(&mut command, "kazoo ", "contention.py")
}

/// Returns the Python of a virtual environment that has kazoo, which is made unless it exists.
fn python() -> Result<PathBuf, Failure> {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (environment, mark) = (parent.join(KAZOO), parent.join(format!("{KAZOO}.done")));
    let python = environment.join("bin/python");
    if !mark.exists() {
        fs::create_dir_all(parent)?;
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", KAZOO]))?;
        fs::write(mark, "")?;
    }
    Ok(python)
}

/// Runs a command, whose output goes to the standard error.
fn run(command: &mut Command) -> Result<(), Failure> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Err(format!("{command:?} ended with {}: {text}", output.status).into())
}

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/contention/contention.py");

/// The package, with its version.
const KAZOO: &str = "kazoo==2.11.0";
