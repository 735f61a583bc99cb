//! Every test and every example, on a real ZooKeeper.

use std::process::Command;

use zklock_testkit::Installation;

use crate::step::{Outcome, Step, announce};

/// The examples, and the last line that each must print, if it is always the same.
const EXAMPLES: [(&str, Option<&str>); 3] = [
    ("run --example quickstart", Some("counter = 100")),
    ("run --example quickstart -- --processes 4", Some("counter = 100")),
    ("run --example fencing", Some("the value is still \"from the second\"")),
];

/// Provides a ZooKeeper, then runs the tests and the examples.
pub(crate) fn run() -> Outcome {
    let zookeeper = Installation::find_or_install()?;
    let classpath: Vec<_> = zookeeper.classpath().iter().map(|entry| entry.to_string_lossy()).collect();
    announce(&format!("ZooKeeper is {}, run by {}", classpath.join(":"), zookeeper.java().display()));
    announce(&python());
    Step::cargo("test --locked --workspace --all-features").run()?;
    EXAMPLES.into_iter().try_for_each(|(arguments, expected)| example(arguments, expected))
}

/// Says what becomes of the one test that cannot run everywhere.
fn python() -> String {
    match Command::new("python3").arg("--version").output() {
        Ok(output) => format!("{} runs kazoo's checks", String::from_utf8_lossy(&output.stdout).trim()),
        Err(error) => format!("no Python, so kazoo's checks are left out: `python3`: {error}"),
    }
}

/// The example must start a server of its own, rather than use one of whoever runs the tests.
fn example(arguments: &str, expected: Option<&str>) -> Outcome {
    let last = Step::cargo(arguments).without_env("ZKLOCK_CONNECT").last_line()?;
    match expected {
        Some(expected) if last != expected => {
            Err(format!("`cargo {arguments}` ended with `{last}`, not with `{expected}`").into())
        }
        _ => Ok(()),
    }
}
