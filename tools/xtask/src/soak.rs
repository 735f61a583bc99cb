//! The tests that take long.

use crate::step::{Outcome, Report, Step};
use crate::{guards, lanes, system};

/// Runs every test in its longest form: on the embedded server, on real ones, and with Kerberos. Takes out the guards.
pub(crate) fn run() -> Outcome<Vec<Report>> {
    system::prepare()?;
    let test = "test --locked --profile soak --all-features --no-fail-fast";
    let core = "clippy --locked --package zklock-core --features sasl-gssapi -- -D warnings";
    let docs = "doc --locked --workspace --no-deps --all-features --document-private-items";
    let reports = lanes::run(vec![vec![
        Step::cargo("clippy --locked --workspace --all-targets --all-features -- -D warnings").soaking(),
        Step::cargo(core),
        Step::cargo(docs).env("RUSTDOCFLAGS", "-D warnings"),
        Step::cargo(&format!("{test} --workspace --exclude zklock-cli --exclude zklock-e2e")).soaking(),
        Step::cargo(&format!("{test} --package zklock --test it")).soaking().env("TEST_SERVER", "zookeeper"),
        Step::cargo(&format!("{test} --package zklock-cli --package zklock-e2e"))
            .soaking()
            .env("TEST_SERVER", "zookeeper"),
    ]])?;
    guards::run(&guards::Options::default())?;
    Ok(reports)
}
