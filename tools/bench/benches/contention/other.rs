//! The same scenarios with other libraries, by programs in their languages: `Contention.java` and `contention.py`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use zklock_testkit::Curator;

use crate::Failure;
use crate::options::{Options, name};

/// Measures Curator, in a Java process. Returns its line.
pub(crate) fn curator(options: &Options, server: &str, namespace: &str) -> Result<String, Failure> {
    let curator = Curator::find_or_install()?;
    let classes = compiled(&curator)?;
    let mut command = Command::new(curator.java());
    command.arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=off").arg("-cp");
    command.arg(std::env::join_paths([&classes].into_iter().chain(curator.classpath()))?).arg("Contention");
    line(&mut command, "curator ", options, [server, namespace])
}

/// Measures kazoo, in Python processes. Returns its line.
pub(crate) fn kazoo(options: &Options, server: &str, namespace: &str) -> Result<String, Failure> {
    line(Command::new(python()?).arg(PYTHON), "kazoo ", options, [server, namespace])
}

/// Runs a program with the options of a measurement, and returns the line of its output with this start.
fn line(
    command: &mut Command,
    start: &str,
    options: &Options,
    [server, namespace]: [&str; 2],
) -> Result<String, Failure> {
    let arguments = [
        format!("server={server}"),
        format!("namespace={namespace}"),
        format!("scenario={}", name(&options.scenario)),
        format!("sessions={}", options.sessions),
        format!("tasks={}", options.tasks),
        format!("instances={}", name(&options.instances)),
        format!("nanos={}", options.seconds.as_nanos()),
        format!("hold={}", options.hold.as_nanos()),
        format!("pause={}", options.pause.as_nanos()),
        format!("shared={}", options.is_shared()),
    ];
    let output = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().find(|line| line.starts_with(start)) {
        Some(line) if output.status.success() => Ok(line.to_owned()),
        _ => Err(format!("the measurement of {start}ended with {}: {text}", output.status).into()),
    }
}

/// Returns the directory of the program's classes, and compiles them unless they are as new as their source.
///
/// The compiler takes as long as a short measurement, so `java` does not compile the source each time.
fn compiled(curator: &Curator) -> Result<PathBuf, Failure> {
    let changed = fs::metadata(JAVA)?.modified()?.duration_since(SystemTime::UNIX_EPOCH)?;
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let classes = parent.join(format!("contention-{}", changed.as_nanos()));
    if classes.is_dir() {
        return Ok(classes);
    }
    fs::create_dir_all(parent)?;
    let new = tempfile::tempdir_in(parent)?;
    let mut compiler = Command::new(curator.java().with_file_name("javac"));
    compiler.arg("-cp").arg(std::env::join_paths(curator.classpath())?);
    run(compiler.arg("-d").arg(new.path()).arg(JAVA))?;
    // Another process may have been faster.
    match fs::rename(new.path(), &classes) {
        Err(error) if !classes.is_dir() => Err(error.into()),
        Ok(()) | Err(_) => Ok(classes),
    }
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

/// Runs a command, whose errors go to the standard error.
fn run(command: &mut Command) -> Result<(), Failure> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Err(format!("{command:?} ended with {}: {text}", output.status).into())
}

const JAVA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/contention/Contention.java");
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/contention/contention.py");

/// The package, with its version.
const KAZOO: &str = "kazoo==2.11.0";
