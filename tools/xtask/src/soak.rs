//! The tests that take long.

use std::process::{Command, Stdio};

use crate::step::{Outcome, Report, Step, root};
use crate::{guards, lanes};

/// Runs every test in its longest form: on the embedded server, on real ones, and with Kerberos. Takes out the guards.
pub(crate) fn run() -> Outcome<Vec<Report>> {
    prepare()?;
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

/// Installs what a build with all features needs: the feature `sasl-gssapi` links the Kerberos library, and makes its
/// bindings with libclang. Where it cannot be installed, a build without it fails by itself.
fn prepare() -> Outcome {
    let script = root().join("tools/testkit/src/real/installation/install.sh");
    let status = Command::new("sh").arg(script).args(PACKAGES).stdin(Stdio::null()).status()?;
    match status.code() {
        Some(0 | CANNOT) => Ok(()),
        _ => Err(format!("the installation of {} failed: {status}", PACKAGES.join(" ")).into()),
    }
}

/// Debian's packages, which have other names elsewhere.
const PACKAGES: [&str; 3] = ["libkrb5-dev", "libclang-dev", "pkg-config"];
/// The exit code of the script where packages cannot be installed.
const CANNOT: i32 = 3;
