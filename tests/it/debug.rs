//! The output of `Debug`, as logs and failed assertions show it.

use std::fmt::Debug;
use std::future::pending;

use crate::support::{Space, soon};

#[track_caller]
fn assert_shows(value: &impl Debug, parts: &[&str]) {
    let shown = format!("{value:?}");
    assert!(parts.iter().all(|part| shown.contains(part)), "{shown} has not all of {parts:?}");
}

#[tokio::test]
async fn handles_and_guards_show_their_paths_and_whether_they_hold() {
    let (space, client) = Space::with_client().await;
    assert_shows(&client, &["Client", "Connected", &space.full("")]);
    let mutex = client.mutex("/orders/7").unwrap();
    let guard = mutex.lock().await.unwrap();
    let token = format!("{:?}", guard.fencing_token());
    assert_shows(&guard, &["Guard", "\"/orders/7\"", &token, "Held"]);
    let held = guard.scope(async { zklock::current().unwrap() }).await;
    assert_shows(&held, &["Held", "\"/orders/7\"", &token, "is_held: true"]);
    guard.release().await.unwrap();
    assert_shows(&held, &["is_held: false"]);
}

#[tokio::test]
async fn candidates_and_terms_show_their_paths_and_whether_they_lead() {
    let (_space, client) = Space::with_client().await;
    assert_shows(&client.election("/boss").unwrap(), &["Election", "\"/boss\"", "policy"]);
    let leader = client.leader("/boss").unwrap();
    assert_shows(&leader, &["Leader", "\"/boss\"", "is_leader: false"]);
    let latch = client.leader_latch("/boss").unwrap();
    let term = soon(latch.leadership()).await.unwrap();
    assert_shows(&latch, &["LeaderLatch", "\"/boss\"", "true"]);
    let token = format!("{:?}", term.fencing_token());
    assert_shows(&term, &["Leadership", "\"/boss\"", &token, "is_leading: true"]);
    let selector = client.leader_selector("/sweeper", |_| pending::<()>()).unwrap();
    assert_shows(&selector, &["LeaderSelector", "\"/sweeper\"", "has_leadership"]);
}
