//! A process that takes its locks with Curator, in Java: this program becomes it.
//!
//! Uses the floors below: `orders`, `settings` and `clock`.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::time::{ClockId, clock_gettime};
use zklock_testkit::Curator;

use crate::clock;
use crate::orders::Orders;
use crate::settings::{NAMESPACE, SESSION};

/// Becomes the process, and returns only if that fails.
pub(crate) fn run(orders: &Orders) -> ExitCode {
    let error = match prepared(orders) {
        // A signal at the death of the parent outlives the change of the program.
        Ok(mut command) => command.exec(),
        Err(error) => error,
    };
    eprintln!("Curator does not run: {error}");
    ExitCode::FAILURE
}

fn prepared(orders: &Orders) -> io::Result<Command> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let curator = Curator::find().map_err(io::Error::other)?;
    let mut command = Command::new(curator.java());
    command
        .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"])
        .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
        .arg("-cp")
        .arg(std::env::join_paths(curator.classpath()).map_err(io::Error::other)?)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/java/Contender.java"))
        .args([&orders.connect, &SESSION.as_millis().to_string(), NAMESPACE])
        .arg(orders.directory.join(format!("history-{}.jsonl", orders.process)))
        .arg(&orders.directory)
        .args([orders.process.number, orders.process.incarnation, orders.tasks].map(|it| it.to_string()))
        .args([orders.seed.to_string(), ahead_of_java().to_string()])
        .args(orders.workload.iter().map(|workload| workload.name()));
    Ok(command)
}

/// Returns the nanoseconds by which the clock of the histories is ahead of Java's: the time during which the machine
/// slept.
fn ahead_of_java() -> u64 {
    let java = clock_gettime(ClockId::Monotonic);
    let java = u64::try_from(java.tv_sec).unwrap_or_default() * 1_000_000_000
        + u64::try_from(java.tv_nsec).unwrap_or_default();
    clock::now().saturating_sub(java)
}
