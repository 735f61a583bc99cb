//! Functions about which lints report what their authors have missed, as without an attribute.

use tokio::task::yield_now;
use zklock::{LockError, distributed_lock, leader_only};

/// Returns errors that it does not explain.
#[expect(clippy::missing_errors_doc, reason = "it is reported")]
#[distributed_lock(path = "/errors")]
pub async fn errors() -> Result<(), LockError> {
    yield_now().await;
    Ok(())
}

/// Returns a value that callers should use.
#[expect(clippy::must_use_candidate, reason = "it is reported")]
#[leader_only]
pub fn value() -> Option<u8> {
    Some(7)
}
