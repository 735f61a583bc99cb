//! Checks that need no server. Uses only `step`.

use crate::step::{Outcome, Report, Step};

/// The format of every crate, which is checked before anything is built.
pub(crate) fn format() -> Vec<Step> {
    let crates = [
        "--all",
        "--manifest-path tools/e2e/downstream/Cargo.toml --package downstream --package lints-2024 \
         --package lints-forbidding",
        "--manifest-path tools/testkit/fuzz/Cargo.toml",
    ];
    crates.into_iter().map(|of| Step::cargo(&format!("fmt {of} --check"))).collect()
}

/// The lints, the documentation and the packages, all without warnings.
pub(crate) fn steps() -> Vec<Step> {
    let downstream =
        "clippy --locked --manifest-path tools/e2e/downstream/Cargo.toml --all-targets -- -D warnings";
    vec![
        Step::cargo("clippy --locked --workspace --all-targets --all-features -- -D warnings"),
        Step::cargo("doc --locked --workspace --no-deps --all-features --document-private-items")
            .env("RUSTDOCFLAGS", "-D warnings"),
        Step::cargo("clippy --locked --package zklock -- -D warnings"),
        Step::cargo("clippy --locked --package zklock-core --features tls -- -D warnings"),
        Step::cargo("clippy --locked --package zklock-core --features sasl-digest -- -D warnings"),
        Step::cargo("clippy --locked --package zklock-core --features sasl-gssapi -- -D warnings"),
        Step::cargo(PACKAGE).without_warnings(),
        Step::cargo(downstream).in_shared_target(),
        Step::cargo(EVERY_LINT).in_shared_target(),
    ]
}

/// The crates that no user gets without asking for them.
const UNWANTED: [&str; 6] = ["zklock-testkit", "rustls", "aws-lc-rs", "rcgen", "rsasl", "libgssapi"];

/// Compiles annotated functions in two editions. Their source says which lints it denies.
const EVERY_LINT: &str = "clippy --locked --manifest-path tools/e2e/downstream/Cargo.toml --package lints-2021 \
                          --package lints-2024 --package lints-forbidding --all-targets -- -D warnings";

/// Packs the published crates. The packed files are not built.
const PACKAGE: &str = "package --locked --package zklock --package zklock-core --package zklock-macros \
                       --package zklock-testkit --no-verify --allow-dirty";

/// Checks that builds for production contain nothing that only tests need, and without the features, nothing of TLS and
/// SASL.
pub(crate) fn without_testkit() -> Outcome<Vec<Report>> {
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
