//! Encrypted connections, names of clients, and access control lists, on a real ZooKeeper.

#[cfg(feature = "sasl-gssapi")]
mod kerberos;
mod matrix;
mod names;
mod relogin;
mod rights;
mod rotation;
mod secrets;
mod secured;
mod tls;

use std::fmt::Debug;
use std::time::Duration;

use tokio::time::timeout;
use zklock::{LockError, Permission};

/// The longest wait for a state that must come.
const SOON: Duration = Duration::from_secs(60);

/// Longer than a test may take, so that a refusal that comes only when the wait is over fails the test.
const PATIENCE: Duration = Duration::from_secs(600);

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.expect("the future did not complete in time")
}

async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let met = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(timeout(SOON, met).await.is_ok(), "timed out waiting until {what}");
}

#[track_caller]
fn failed<T: Debug>(result: Result<T, LockError>) -> LockError {
    result.expect_err("it fails")
}

#[track_caller]
fn assert_denied<T: Debug>(outcome: Result<T, LockError>, at: &str, lacks: Permission) {
    let error = failed(outcome);
    let LockError::Denied { path, permission, .. } = &error else { panic!("{error}") };
    assert_eq!((path.as_str(), *permission), (at, Some(lacks)), "{error}");
    assert!(error.to_string().contains(&format!("may not {lacks} there")), "{error}");
}
