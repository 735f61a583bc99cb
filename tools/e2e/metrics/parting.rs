//! The last report of a client.

use std::time::Duration;

use tokio::time::timeout;
use zklock::LossReason;
use zklock_testkit::EmbeddedServer;

use super::scrape::{Blocked, scraped};
use super::{RECORDER, SOON, client, until_it_is};

#[tokio::test]
async fn a_shutdown_reports_the_counts_that_are_left_and_the_locks_that_it_takes_away() {
    let _unblocked = RECORDER.read().await;
    let server = EmbeddedServer::start().unwrap();
    let client = client(&server, "/taken").await;
    client.mutex("/a").unwrap().named("taken").lock().await.unwrap().release().await.unwrap();
    let guard = client.mutex("/a").unwrap().named("taken").lock().await.unwrap();
    client.shutdown(Duration::ZERO).await;
    assert_eq!(scraped("zklock_acquisitions_total", &[("lock", "taken"), ("outcome", "acquired")]), [2.0]);
    assert_eq!(scraped("zklock_hold_seconds_count", &[("lock", "taken")]), [2.0]);
    assert_eq!(scraped("zklock_held", &[("lock", "taken")]), [0.0]);
    let lost = [("lock", "taken"), ("reason", "session_ended")];
    assert_eq!(scraped("zklock_losses_total", &lost), [1.0]);
    drop(guard);
}

#[tokio::test]
async fn a_client_that_is_shut_down_has_no_state_although_its_handles_are_left() {
    let _unblocked = RECORDER.read().await;
    let server = EmbeddedServer::start().unwrap();
    let client = client(&server, "/over").await;
    let state = |state| [("namespace", "/over"), ("state", state)];
    until_it_is(1.0, "zklock_session_state", &state("connected")).await;
    client.shutdown(SOON).await;
    // A later report comes with the count of this call.
    client.mutex("/a").unwrap().named("over").lock().await.unwrap_err();
    until_it_is(1.0, "zklock_acquisitions_total", &[("lock", "over"), ("outcome", "failed")]).await;
    until_it_is(0.0, "zklock_held", &[("lock", "over")]).await;
    for name in ["connected", "suspended", "lost"] {
        assert_eq!(scraped("zklock_session_state", &state(name)), [0.0], "{name}");
    }
}

#[tokio::test]
async fn a_recorder_that_blocks_keeps_no_lock_beyond_the_shutdown() {
    let _alone = RECORDER.write().await;
    let server = EmbeddedServer::start().unwrap();
    let client = client(&server, "/beyond").await;
    let guard = client.mutex("/a").unwrap().named("beyond").lock().await.unwrap();
    until_it_is(1.0, "zklock_held", &[("lock", "beyond")]).await;
    {
        let blocked = Blocked::begin();
        blocked.struck(SOON).await;
        let (lost, ()) = timeout(SOON, async { tokio::join!(guard.lost(), client.shutdown(Duration::ZERO)) })
            .await
            .expect("the shutdown ends");
        assert_eq!(lost, LossReason::SessionEnded);
    }
    until_it_is(0.0, "zklock_held", &[("lock", "beyond")]).await;
}

#[tokio::test]
async fn the_full_term_of_a_lease_is_reported_while_a_lock_is_held() {
    let server = EmbeddedServer::start().unwrap();
    let client = client(&server, "/term").await;
    let of = [("namespace", "/term")];
    super::until("zklock_lease_seconds", &of, f64::is_nan).await;
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    super::until("zklock_lease_seconds", &of, |full| full > 0.0).await;
    // The runbook names this term, which is that of the default session timeout.
    assert_eq!(scraped("zklock_lease_seconds", &of), [22.2]);
    let left = scraped("zklock_lease_remaining_seconds", &of);
    assert!(left[0] <= 22.2, "{left:?}");
    drop(guard);
}
