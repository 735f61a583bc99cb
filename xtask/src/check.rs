//! Everything that needs no server.

use crate::step::{Outcome, Step};

/// Checks the format, the lints and the documentation.
pub(crate) fn run() -> Outcome {
    Step::cargo("fmt --all --check").run()?;
    Step::cargo("clippy --locked --workspace --all-targets --all-features -- -D warnings").run()?;
    Step::cargo("doc --locked --workspace --no-deps --all-features --document-private-items")
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()
}
