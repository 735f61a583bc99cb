//! Waits for states, with a bound.

use std::future::Future;
use std::time::Duration;

/// The longest wait for a state that must come.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// Waits until a condition holds.
pub(crate) async fn until<F: Future<Output = bool>>(mut condition: impl FnMut() -> F, what: &str) {
    let deadline = tokio::time::Instant::now() + SOON;
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Awaits a future that must complete soon.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("the future did not complete in time")
}
