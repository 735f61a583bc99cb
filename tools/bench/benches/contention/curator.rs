//! The same scenarios with Curator, in a Java process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use zklock_testkit::Curator;

use crate::Failure;
use crate::options::{Options, name};
use crate::other::line;

/// Runs `Contention.java` and returns its line.
pub(crate) fn measure(options: &Options, server: &str, namespace: &str) -> Result<String, Failure> {
    let curator = Curator::find_or_install()?;
    let until = match options.seconds {
        Some(time) => format!("nanos={}", time.as_nanos()),
        None => format!("iterations={}", options.iterations),
    };
    let mut command = Command::new(curator.java());
    command
        .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
        .arg("-cp")
        .arg(std::env::join_paths([&compiled(&curator)?].into_iter().chain(curator.classpath()))?)
        .arg("Contention")
        .arg(format!("server={server}"))
        .arg(format!("namespace={namespace}"))
        .arg(format!("scenario={}", name(&options.scenario)))
        .arg(format!("sessions={}", options.sessions))
        .arg(format!("tasks={}", options.tasks))
        .arg(format!("instances={}", name(&options.instances)))
        .arg(until)
        .arg(format!("hold={}", options.hold().as_nanos()))
        .arg(format!("pause={}", options.pause().as_nanos()))
        .arg(format!("shared={}", options.is_shared()));
    line(&mut command, "curator ", "Contention.java")
}

/// Returns the directory of the program's classes, and compiles them unless they are as new as their source.
///
/// The compiler takes as long as a short measurement, so `java` does not compile the source each time.
fn compiled(curator: &Curator) -> Result<PathBuf, Failure> {
    let changed = fs::metadata(SOURCE)?.modified()?.duration_since(SystemTime::UNIX_EPOCH)?;
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let classes = parent.join(format!("contention-{}", changed.as_nanos()));
    if classes.is_dir() {
        return Ok(classes);
    }
    fs::create_dir_all(parent)?;
    let new = tempfile::tempdir_in(parent)?;
    let status = Command::new(curator.java().with_file_name("javac"))
        .arg("-cp")
        .arg(std::env::join_paths(curator.classpath())?)
        .arg("-d")
        .arg(new.path())
        .arg(SOURCE)
        .status()?;
    if !status.success() {
        return Err(format!("javac ended with {status}").into());
    }
    // Another process may have been faster.
    match fs::rename(new.path(), &classes) {
        Err(error) if !classes.is_dir() => Err(error.into()),
        Ok(()) | Err(_) => Ok(classes),
    }
}

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/contention/Contention.java");
