//! Every test and every example. Uses only `built` and `step`.

use crate::built::{Built, Program};
use crate::step::{Outcome, Report, Step};

/// The examples, their arguments, and the last line that each must print.
const EXAMPLES: [(&str, &str, &str); 8] = [
    ("quickstart", "--processes 4", "counter = 100"),
    ("quickstart", "", "counter = 100"),
    ("fencing", "", "the value is still \"from the second\""),
    ("scheduled", "", "every tick ran on one replica"),
    ("cron", "", "one replica at a time wrote reports"),
    ("metrics", "--demo", "every metric was recorded"),
    ("service", "--demo", "the service answered and ended"),
    ("axum_leader", "--demo", "the leader was killed, and the other replica serves"),
];

/// The test that takes longest, and mostly waits for servers.
const LONGEST: &str = "it";
/// The test of the core, most of which is the simulation of the queue, and waits for nothing.
const SIMULATION: &str = "zklock_core";

/// The tests and the examples.
pub(crate) struct Tests {
    /// Two lanes of programs of the workspace, which are built already. They take about as long as each other.
    pub(crate) lanes: Vec<Vec<Step>>,
    /// Steps that build first, and therefore exclude each other.
    pub(crate) builds: Vec<Step>,
    pub(crate) report: Report,
}

/// Builds every test and every example of the workspace.
pub(crate) fn prepare() -> Outcome<Tests> {
    let (built, report) = Built::build()?;
    let (longest, others): (Vec<_>, Vec<_>) = built.tests.iter().partition(|test| test.name == LONGEST);
    if longest.len() != 1 {
        return Err(format!("{} tests have the name {LONGEST}", longest.len()).into());
    }
    // The simulation needs no server, and takes longer than an installation.
    let (simulation, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|test| test.name == SIMULATION);
    let mut lane = simulation.into_iter().chain(others).map(test).collect::<Outcome<Vec<_>>>()?;
    for (name, arguments, last_line) in EXAMPLES {
        lane.push(example(built.example(name)?, arguments).ends_with(last_line));
    }
    lane.push(on_zookeeper(&built, "", EXAMPLES[0])?);
    lane.push(on_zookeeper(&built, "--tls", EXAMPLES[0])?);
    let servers = &built.example("with_zookeeper")?.path;
    let mut waiting = vec![
        Step::program("ZooKeeper, Curator, PostgreSQL, Kerberos and promtool", servers).arguments("true"),
    ];
    waiting.extend(longest.into_iter().map(test).collect::<Outcome<Vec<_>>>()?);
    let downstream = "test --locked --manifest-path tools/e2e/downstream/Cargo.toml";
    let builds = vec![
        Step::cargo("test --locked --workspace --all-features --doc"),
        Step::cargo(downstream).in_shared_target(),
        // Settings of features that are not there.
        Step::cargo("test --locked --package zklock-core --lib client::"),
    ];
    Ok(Tests { lanes: vec![waiting, lane], builds, report })
}

fn test(program: &Program) -> Outcome<Step> {
    // Most tests wait for servers rather than for a processor.
    let threads = 2 * std::thread::available_parallelism()?.get();
    // Programs of different packages may have the same name, and each has a log of its own.
    let package = program.package.file_name().unwrap_or_default().to_string_lossy();
    let title = format!("test {package} {}", program.name);
    let step = Step::program(&title, &program.path);
    let step = step.in_directory(&program.package).env("RUST_TEST_THREADS", threads.to_string());
    // The simulation must not keep the leases of other tests from being renewed.
    Ok(if program.name == SIMULATION { step.nice() } else { step })
}

/// The example with a server of its own, even if the environment names another one.
fn example(program: &Program, arguments: &str) -> Step {
    let title = format!("example {} {arguments}", program.name);
    Step::program(&title, &program.path).arguments(arguments).without_env("ZKLOCK_CONNECT")
}

/// The example on a real ZooKeeper, whose connections are encrypted with `--tls`.
fn on_zookeeper(
    built: &Built,
    tls: &str,
    (name, arguments, last_line): (&str, &str, &'static str),
) -> Outcome<Step> {
    let (runner, example) = (built.example("with_zookeeper")?, built.example(name)?);
    let step = Step::program(&format!("example {name} on ZooKeeper {tls}"), &runner.path);
    Ok(step.arguments(&format!("{tls} {} {arguments}", example.path.display())).ends_with(last_line))
}
