//! Panics on a client's thread, where a subscriber of `tracing` may cause them. Each costs one session.

use zklock::{Client, LossReason};
use zklock_testkit::{How, Proxy};

use crate::support::logs::{Loud, PANICS, logged};
use crate::support::{Space, failed, persistent, soon, until};

/// Returns a lock at which a task of the client panics, because it logs a stranger's node.
async fn lock_that_panics(space: &Space, client: &Client) -> zklock::Mutex {
    let mutex = client.mutex("/panics").unwrap();
    soon(mutex.lock()).await.unwrap().release().await.unwrap();
    add_stranger(space).await;
    mutex
}

async fn add_stranger(space: &Space) -> String {
    Loud::listen();
    let stranger = space.full(&format!("/panics/{PANICS}"));
    space.outsider().await.create(&stranger, b"", &persistent()).await.unwrap();
    stranger
}

#[tokio::test]
async fn a_panic_of_a_task_ends_the_session_and_the_next_one_has_the_locks_again() {
    let (space, proxy, client) = Space::with_proxy().await;
    let mutex = lock_that_panics(&space, &client).await;
    let other = client.mutex("/other").unwrap();
    let held = soon(other.lock()).await.unwrap();
    let session = client.session_id();
    proxy.refuse();
    let error = failed(soon(mutex.lock()).await).to_string();
    assert!(error.contains("panicked"), "{error}");
    assert_eq!(soon(held.lost()).await, LossReason::SessionEnded);
    assert!(!client.readiness().is_ready(), "it has no session");
    drop(held);
    proxy.heal();
    until(async || client.readiness().is_ready(), "the client is ready again").await;
    soon(other.lock()).await.unwrap().release().await.unwrap();
    assert_ne!(client.session_id(), session);

    // The lock at which the task panicked is not closed for good.
    space.delete_children("/panics").await;
    soon(mutex.lock()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_candidate_whose_task_panics_runs_again_in_the_next_session() {
    let (space, client) = Space::with_client().await;
    let leader = client.leader("/panics").unwrap();
    let term = soon(leader.leadership()).await.unwrap();
    let stranger = add_stranger(&space).await;
    let session = client.session_id();
    // It lists the queue, and so sees the stranger, when it runs again.
    term.resign();
    soon(term.lost()).await;
    until(async || client.session_id().is_some_and(|next| Some(next) != session), "a task has panicked")
        .await;
    space.outsider().await.delete(&stranger, None).await.unwrap();
    soon(leader.leadership()).await.unwrap();
}

#[tokio::test]
async fn a_lock_goes_to_others_after_a_panic_only_when_its_body_has_ended() {
    let (space, client) = Space::with_client().await;
    let mutex = lock_that_panics(&space, &client).await;
    let guard = soon(client.mutex("/other").unwrap().lock()).await.unwrap();
    let other = space.client().await.mutex("/other").unwrap();
    failed(soon(mutex.lock()).await);
    soon(guard.lost()).await;
    // The session is closed after a pause for bodies that are being dropped.
    assert!(other.try_lock().await.unwrap().is_none());
    drop(guard);
    soon(other.lock()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_panic_between_two_sessions_does_not_end_the_clients_thread() {
    Loud::listen();
    let space = Space::quick();
    let proxy = Proxy::start(space.server().address()).unwrap();
    // The servers are named in the warning that no session can be opened. No name service is asked for such a long name.
    let servers = format!("{},{PANICS}-{}.invalid:1", proxy.connect_string(), "x".repeat(64));
    let client = space.config_at(&servers).connect().await.unwrap();
    let mutex = client.mutex("/a").unwrap();
    let held = soon(mutex.lock()).await.unwrap();
    proxy.refuse();
    space.end_session_of(&client);
    proxy.cut(How::Rst);
    soon(held.lost()).await;
    drop(held);
    until(async || !logged(&servers).is_empty(), "the thread panics").await;
    proxy.heal();
    soon(mutex.lock()).await.unwrap().release().await.unwrap();
}
