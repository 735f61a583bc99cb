//! Waits for states, with a bound.

use std::future::Future;
use std::time::Duration;

/// The longest wait for a state that must come.
pub(crate) const SOON: Duration = Duration::from_secs(30);

pub(crate) async fn until<F: Future<Output = bool>>(mut condition: impl FnMut() -> F, what: &str) {
    let is_met = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let in_time = tokio::time::timeout(SOON, is_met).await;
    assert!(in_time.is_ok(), "timed out waiting until {what}");
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    in_time(future, "the future completes").await
}

/// Awaits a future that must complete soon, and whose name a failure tells.
pub(crate) async fn in_time<T>(future: impl Future<Output = T>, what: &str) -> T {
    let completed = tokio::time::timeout(SOON, future).await;
    completed.unwrap_or_else(|_| panic!("timed out waiting until {what}"))
}
