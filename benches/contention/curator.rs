//! The same scenarios with Curator, in a Java process.

use std::process::{Command, Stdio};

use zklock_testkit::Curator;

use crate::Failure;
use crate::options::{Options, name};

/// Runs `Contention.java` and returns its line.
pub(crate) fn measure(options: &Options, server: &str, namespace: &str) -> Result<String, Failure> {
    let curator = Curator::find_or_install()?;
    let until = match options.seconds {
        Some(time) => format!("nanos={}", time.as_nanos()),
        None => format!("iterations={}", options.iterations),
    };
    let output = Command::new(curator.java())
        .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
        .arg("-cp")
        .arg(std::env::join_paths(curator.classpath())?)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/contention/Contention.java"))
        .arg(format!("server={server}"))
        .arg(format!("namespace={namespace}"))
        .arg(format!("scenario={}", name(&options.scenario)))
        .arg(format!("sessions={}", options.sessions))
        .arg(format!("tasks={}", options.tasks))
        .arg(format!("instances={}", name(&options.instances)))
        .arg(until)
        .arg(format!("hold={}", options.hold().as_nanos()))
        .arg(format!("pause={}", options.pause().as_nanos()))
        .arg(format!("fresh={}", options.fresh_paths().unwrap_or_default()))
        .arg(format!("shared={}", options.is_shared()))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().find(|line| line.starts_with("curator ")) {
        Some(line) if output.status.success() => Ok(line.to_owned()),
        _ => Err(format!("Contention.java ended with {}: {text}", output.status).into()),
    }
}
