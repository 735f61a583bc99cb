//! The checks that need no server.

use crate::step::{Outcome, Step};

/// Checks the format, the lints, the documentation and what users depend on.
pub(crate) fn run() -> Outcome {
    Step::cargo("fmt --all --check").run()?;
    Step::cargo("clippy --locked --workspace --all-targets --all-features -- -D warnings").run()?;
    Step::cargo("clippy --locked --package zklock -- -D warnings").run()?;
    Step::cargo("doc --locked --workspace --no-deps --all-features --document-private-items")
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()?;
    Step::cargo("fmt --manifest-path tests/downstream/Cargo.toml --check").run()?;
    Step::cargo("fmt --manifest-path zklock-testkit/fuzz/Cargo.toml --check").run()?;
    Step::cargo("clippy --locked --manifest-path tests/downstream/Cargo.toml --all-targets -- -D warnings")
        .in_shared_target()
        .run()?;
    without_testkit("tree --locked --package zklock --edges normal --prefix none")?;
    without_testkit("tree --locked --manifest-path tests/downstream/Cargo.toml --edges normal --prefix none")
}

/// Checks that a user's production build does not depend on the testkit.
fn without_testkit(tree: &str) -> Outcome {
    let packages = Step::cargo(tree).output()?;
    let is_named = |name| packages.lines().any(|package| package.split(' ').next() == Some(name));
    assert!(is_named("zklock-core"), "`cargo {tree}` does not name zklock-core: {packages}");
    match is_named("zklock-testkit") {
        true => Err(format!("`cargo {tree}` names zklock-testkit").into()),
        false => Ok(()),
    }
}
