//! The tests that take long. Uses only `lanes`, `step` and `system`.

use crate::step::{Outcome, Report, Step};
use crate::{lanes, system};

/// Runs every test in its longest form: on the embedded server, on a real ZooKeeper, and with Kerberos.
pub(crate) fn run() -> Outcome<Vec<Report>> {
    system::prepare()?;
    let everything = "test --locked --profile soak --workspace --all-features --no-fail-fast";
    let again = "--package zklock --package zklock-cli --package zklock-e2e --test it --test cli --test interop --test servers";
    let on_zookeeper = format!("test --locked --profile soak --all-features --no-fail-fast {again}");
    lanes::run(vec![vec![
        Step::cargo("clippy --locked --workspace --all-targets --all-features -- -D warnings").soaking(),
        Step::cargo(everything).soaking(),
        Step::cargo(&on_zookeeper).soaking().env("TEST_SERVER", "zookeeper"),
    ]])
}
