//! Runs every test and every example.

use std::path::PathBuf;
use std::process::Command;

use zklock_testkit::{Curator, Installation, ZooKeeper};

use crate::step::{Outcome, Step, announce};

/// The examples, and the last line that each must print.
const EXAMPLES: [(&str, &str); 6] = [
    ("run --example quickstart -- --processes 4", "counter = 100"),
    ("run --example quickstart", "counter = 100"),
    ("run --example fencing", "the value is still \"from the second\""),
    ("run --example scheduled", "every tick ran on one replica"),
    ("run --example cron", "one replica at a time wrote reports"),
    ("run --example axum_leader -- --demo", "the leader was killed, and the other replica serves"),
];

/// Finds or installs ZooKeeper and Curator, then runs the tests and the examples. The first example runs on a
/// real ZooKeeper as well.
pub(crate) fn run() -> Outcome {
    let zookeeper = Installation::find_or_install()?;
    announce(&format!(
        "ZooKeeper is {}, run by {}",
        listed(zookeeper.classpath()),
        zookeeper.java().display()
    ));
    let curator = Curator::find_or_install()?;
    announce(&format!("Curator is {}, run by {}", listed(curator.classpath()), curator.java().display()));
    announce(&python());
    // Most tests wait for servers rather than for the CPU.
    let threads = 2 * std::thread::available_parallelism()?.get();
    Step::cargo("test --locked --workspace --all-features")
        .env("RUST_TEST_THREADS", &threads.to_string())
        .run()?;
    Step::cargo("test --locked --manifest-path tests/downstream/Cargo.toml").in_shared_target().run()?;
    EXAMPLES.into_iter().try_for_each(|(arguments, expected)| {
        // Examples start their own server, even if the environment names another one.
        ends_with(expected, Step::cargo(arguments).without_env("ZKLOCK_CONNECT"))
    })?;
    let server = ZooKeeper::start()?;
    let (arguments, expected) = EXAMPLES[0];
    ends_with(expected, Step::cargo(arguments).env("ZKLOCK_CONNECT", server.connect_string()))
}

fn listed(classpath: &[PathBuf]) -> String {
    let entries: Vec<_> = classpath.iter().map(|entry| entry.to_string_lossy()).collect();
    entries.join(":")
}

/// Reports whether the one test that needs Python can run.
fn python() -> String {
    match Command::new("python3").arg("--version").output() {
        Ok(output) => format!("{} runs kazoo's checks", String::from_utf8_lossy(&output.stdout).trim()),
        Err(error) => format!("no Python, so kazoo's checks are skipped: `python3`: {error}"),
    }
}

fn ends_with(expected: &str, example: Step) -> Outcome {
    let last = example.last_line()?;
    match last == expected {
        true => Ok(()),
        false => Err(format!("the example ended with `{last}`, not with `{expected}`").into()),
    }
}
