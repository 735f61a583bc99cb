//! The reasons for which no session can be opened.

use std::time::{Duration, Instant};

use zklock::{Client, Config, LockError, Readiness};

use super::logs::logged;
use super::{failed, until};

/// Checks that a connect to these servers fails in time, and that this reason is told everywhere.
pub(crate) async fn assert_told(reason: &str, servers: &str, within: Duration) {
    let config = || Config::new(servers).connect_timeout(within);
    let begun = Instant::now();
    let error = failed(config().connect().await);
    // A machine that does much else may delay the answer.
    assert!((within..within * 2).contains(&begun.elapsed()), "{servers}: {:?}", begun.elapsed());
    let LockError::Connect { endpoints, waited, .. } = &error else { panic!("{servers}: {error}") };
    assert_eq!((endpoints.as_str(), *waited), (servers, within));
    assert!(error.to_string().contains(reason), "{servers}: {error}");

    let client = config().start().unwrap();
    let is_told = |client: &Client| match client.readiness() {
        Readiness::Disconnected { reason: Some(told), .. } => told.contains(reason),
        _ => false,
    };
    until(async || is_told(&client), &format!("the readiness tells {reason:?}")).await;
    let warnings = logged(servers);
    assert!(warnings.iter().any(|line| line.contains(reason)), "{servers}: {warnings:?}");
}
