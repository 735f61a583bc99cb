//! Logins that the servers do not accept any more when a client connects again.

use std::time::{Duration, Instant};

use rstest::rstest;
use zklock::{Acl, Client, Config, LockError, LossReason};
use zklock_testkit::ZooKeeper;

use crate::{PATIENCE, SOON, failed, soon, until};

async fn start() -> (ZooKeeper, Client) {
    let zookeeper = ZooKeeper::builder().user("worker", "first").max_session_timeout(SOON).start().unwrap();
    let config = Config::new(zookeeper.connect_string()).sasl_digest("worker", "first");
    let config = config.acl(Acl::CreatorAll).session_timeout(SOON).default_wait(PATIENCE);
    let client = config.connect().await.unwrap();
    (zookeeper, client)
}

async fn assert_refused(client: &Client) {
    let error = failed(soon(client.mutex("/b").unwrap().lock()).await.map(drop));
    assert!(matches!(error, LockError::AuthFailed { .. }), "{error}");
}

#[rstest]
#[case::of_a_changed_password([("worker", "second")])]
#[case::of_a_removed_user([("other", "second")])]
#[tokio::test]
async fn a_login_that_is_refused_at_a_reconnect_ends_the_hold_and_is_told(#[case] users: [(&str, &str); 1]) {
    let (zookeeper, client) = start().await;
    let (session, guard) = (client.session_id(), client.mutex("/a").unwrap().lock().await.unwrap());
    zookeeper.replace_users(users).unwrap();
    zookeeper.restart().unwrap();
    assert_eq!(soon(guard.lost()).await, LossReason::SessionEnded);
    assert!(!guard.is_held());
    failed(guard.release().await);
    assert_refused(&client).await;

    let refusals = || zookeeper.log().unwrap().matches("failed to SASL authenticate").count();
    let (before, since) = (refusals(), Instant::now());
    // This test is about time: a loop without a pause would make hundreds of connections in each second.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (tried, time) = (refusals() - before, since.elapsed());
    assert!((tried as f64) < 10.0 * time.as_secs_f64(), "{tried} logins in {time:?}");

    // The client comes back on its own. The servers keep the lost lock until its session times out.
    zookeeper.replace_users([("worker", "first")]).unwrap();
    zookeeper.restart().unwrap();
    let mutex = client.mutex("/a").unwrap();
    until("the login is accepted again", async || mutex.participants().await.is_ok()).await;
    assert_ne!(client.session_id(), session);
    assert!(mutex.try_lock().await.unwrap().is_none());
}

#[tokio::test]
async fn a_login_that_is_accepted_at_a_reconnect_keeps_the_hold() {
    let (zookeeper, client) = start().await;
    let (session, guard) = (client.session_id(), client.mutex("/a").unwrap().lock().await.unwrap());
    for _ in 0..2 {
        zookeeper.restart().unwrap();
        until("the lock is proved again", async || guard.verify().await.is_ok()).await;
    }
    assert_eq!(client.session_id(), session);
    guard.release().await.unwrap();
}
