//! Every check after `cargo test`.

use crate::lanes;
use crate::step::{Outcome, Report, Step, target};

/// The examples, their arguments, and the last line that each must print.
const EXAMPLES: [(&str, &str, &str); 7] = [
    ("quickstart", "--processes 4", "counter = 100"),
    ("quickstart", "", "counter = 100"),
    ("fencing", "", "the value is still \"from the second\""),
    ("scheduled", "", "every tick ran on one replica"),
    ("cron", "", "one replica at a time wrote reports"),
    ("metrics", "--demo", "every metric was recorded"),
    ("service", "--demo", "the leader was killed, and the other replica serves"),
];

/// The packages whose tests `cargo test` leaves out.
const OTHERS: &str = "--package zklock-e2e --package zklock-cli --package zklock-chaos \
                      --package zklock-example-services --package xtask";

/// Runs the tests that need more than Rust beside the checks of format, lints, documentation and packages.
pub(crate) fn run() -> Outcome<Vec<Report>> {
    let mut reports = lanes::run(vec![format()])?;
    reports.extend(without_testkit()?);
    reports.extend(lanes::run(vec![tests(), checks().into_iter().map(Step::nice).collect()])?);
    Ok(reports)
}

/// The tests, and the examples that are built with them. They mostly wait for servers.
fn tests() -> Vec<Step> {
    let on_zookeeper = |tests: &str| {
        Step::cargo(&format!("test --locked --no-fail-fast {tests}")).env("TEST_SERVER", "zookeeper")
    };
    let servers = target().join("debug/examples/with_zookeeper");
    let mut steps = vec![
        // `cargo test` has built it.
        Step::program("ZooKeeper, Curator, PostgreSQL and promtool", &servers).arguments("true"),
        on_zookeeper("--test it"),
        on_zookeeper(OTHERS),
    ];
    let path = |name: &str| servers.with_file_name(name);
    steps.extend(EXAMPLES.map(|(name, arguments, last_line)| {
        let example = Step::program(&format!("example {name} {arguments}"), &path(name));
        // The example has a server of its own, even if the environment names another one.
        example.arguments(arguments).without_env("ZKLOCK_CONNECT").ends_with(last_line)
    }));
    let (name, arguments, last_line) = EXAMPLES[0];
    let quickstart = path(name);
    let on_zookeeper = Step::program(&format!("example {name} on ZooKeeper"), &servers);
    let on_zookeeper = on_zookeeper.arguments(&format!("{} {arguments}", quickstart.display()));
    steps.push(on_zookeeper.ends_with(last_line));
    steps
}

/// The format of every crate, which is checked before anything is built.
fn format() -> Vec<Step> {
    let crates = [
        "--all",
        "--manifest-path tools/e2e/downstream/Cargo.toml --package downstream --package lints-2024 \
         --package lints-forbidding",
        "--manifest-path tools/testkit/fuzz/Cargo.toml",
    ];
    crates.into_iter().map(|of| Step::cargo(&format!("fmt {of} --check"))).collect()
}

/// The lints, the documentation, the packages and the tests that build first, which therefore exclude each other.
fn checks() -> Vec<Step> {
    let downstream = "--locked --manifest-path tools/e2e/downstream/Cargo.toml";
    // Annotated functions in two editions. Their source says which lints it denies.
    let every_lint = "--package lints-2021 --package lints-2024 --package lints-forbidding --all-targets";
    let features = "metrics,sasl-digest,serde,tls";
    vec![
        Step::cargo("clippy --locked --workspace --all-targets -- -D warnings"),
        Step::cargo(
            "clippy --locked --package zklock --package zklock-core --package zklock-e2e --tests -- -D warnings --cfg soak",
        ),
        Step::cargo("clippy --locked --package zklock -- -D warnings"),
        Step::cargo("clippy --locked --package zklock-core --features tls -- -D warnings"),
        Step::cargo("clippy --locked --package zklock-core --features sasl-digest -- -D warnings"),
        Step::cargo(&format!(
            "doc --locked --workspace --no-deps --document-private-items --features {features},testing"
        ))
        .env("RUSTDOCFLAGS", "-D warnings"),
        Step::cargo(&format!("test --locked --package zklock --doc --features {features},testing")),
        Step::cargo(&format!("test --locked --package zklock-core --features {features}")),
        Step::cargo("clippy --locked --package zklock-testkit -- -D warnings"),
        Step::cargo("clippy --locked --package zklock-testkit --all-features -- -D warnings"),
        Step::cargo("test --locked --package zklock-testkit --all-features --features zookeeper-client/tls"),
        Step::cargo(WITH_TLS).ends_with(EXAMPLES[0].2),
        Step::cargo(PACKAGE).without_warnings(),
        Step::cargo(&format!("test {downstream}")).in_shared_target(),
        Step::cargo(&format!("clippy {downstream} --all-targets -- -D warnings")).in_shared_target(),
        Step::cargo(&format!("clippy {downstream} {every_lint} -- -D warnings")).in_shared_target(),
    ]
}

/// The quickstart over an encrypted connection.
const WITH_TLS: &str = "run --locked --package zklock-testkit --features tls --example with_zookeeper -- --tls \
                        cargo run --locked --example quickstart --features tls -- --processes 4";

/// Packs the published crates. The packed files are not built.
const PACKAGE: &str = "package --locked --package zklock --package zklock-core --package zklock-macros \
                       --package zklock-testkit --no-verify --allow-dirty";

/// The crates that no user gets without asking for them.
const UNWANTED: [&str; 6] = ["zklock-testkit", "rustls", "aws-lc-rs", "rcgen", "rsasl", "libgssapi"];

/// Checks that builds for production contain nothing that only tests need, and without the features, nothing of TLS and
/// SASL.
fn without_testkit() -> Outcome<Vec<Report>> {
    let trees = ["--package zklock", "--manifest-path tools/e2e/downstream/Cargo.toml"];
    trees
        .into_iter()
        .map(|of| tree_without_testkit(&format!("tree --locked {of} --edges normal --prefix none")))
        .collect()
}

fn tree_without_testkit(tree: &str) -> Outcome<Report> {
    let report = Step::cargo(tree).quiet()?;
    let names = |name| report.output.lines().any(|package| package.split(' ').next() == Some(name));
    if !names("zklock-core") {
        return Err(format!("`cargo {tree}` does not name zklock-core: {}", report.output).into());
    }
    if let Some(unwanted) = UNWANTED.into_iter().find(|unwanted| names(unwanted)) {
        return Err(format!("`cargo {tree}` names {unwanted}").into());
    }
    Ok(report)
}
