//! The number of requests that a read-write lock costs, counted by a server.

use std::time::Duration;

use zklock::RwLock;
use zklock_testkit::Proxy;

use super::{PATH, watchers_on};
use crate::requests::{PATIENCE, quiet_client, quiet_client_at, requests};
use crate::support::{Server, soon, until};

/// Returns a lock of a client whose session sends no heartbeat within the time of a test.
async fn quiet(server: &Server) -> RwLock {
    quiet_at(server.connect_string()).await
}

async fn quiet_at(connect: &str) -> RwLock {
    let lock = quiet_client_at(connect).await.rwlock(PATH).unwrap();
    lock.read().await.unwrap().release().await.unwrap();
    lock
}

#[tokio::test]
async fn either_side_of_a_free_lock_costs_two_requests_at_a_new_path_and_again_and_again() {
    let server = Server::start_granting(PATIENCE);
    let lock = quiet_client(&server).await.rwlock(PATH).unwrap();
    // On a busy machine, a lock may be held for so long that its holder looks around.
    for cost in [2, 4, 2, 2] {
        let read = async { lock.read().await.unwrap().release().await.unwrap() };
        assert!((cost..=cost + 1).contains(&requests(&server, read).await));
    }
    for cost in [2, 2] {
        let write = async { lock.write().await.unwrap().release().await.unwrap() };
        assert!((cost..=cost + 1).contains(&requests(&server, write).await));
    }
}

#[tokio::test]
async fn what_is_entered_again_and_what_may_not_be_cost_nothing() {
    let server = Server::start_granting(PATIENCE);
    let lock = quiet(&server).await;
    let writer = lock.write().await.unwrap();
    let inside = writer.scope(async {
        for _ in 0..10 {
            lock.write().await.unwrap().release().await.unwrap();
            lock.read().await.unwrap().release().await.unwrap();
        }
    });
    assert_eq!(requests(&server, inside).await, 0);
    writer.release().await.unwrap();
    let reader = lock.read().await.unwrap();
    until(|| async { server.watch_count() == 2 }, "the reader watches the queue and its children").await;
    let inside = reader.scope(async {
        for _ in 0..10 {
            lock.read().await.unwrap().release().await.unwrap();
            lock.write().await.unwrap_err();
            lock.try_write().await.unwrap_err();
        }
    });
    assert_eq!(requests(&server, inside).await, 0);
    reader.release().await.unwrap();
}

#[tokio::test]
async fn a_try_that_finds_others_costs_three_requests() {
    let server = Server::start_granting(PATIENCE);
    let (holder, other) = (quiet(&server).await, quiet(&server).await);
    let writer = holder.write().await.unwrap();
    assert!(other.try_read().await.unwrap().is_none());
    let own = holder.participants().await.unwrap().remove(0).node;
    until(|| async { !watchers_on(&server, &format!("{PATH}/{own}")).is_empty() }, "it is watched").await;
    let tried = async {
        assert!(other.try_read().await.unwrap().is_none());
        assert!(other.try_write().await.unwrap().is_none());
    };
    assert_eq!(requests(&server, tried).await, 6);
    writer.release().await.unwrap();
}

#[tokio::test]
async fn to_listen_for_revocation_costs_one_request_and_none_after_a_loss() {
    let server = Server::start_granting(PATIENCE);
    let proxy = Proxy::start(server.address()).unwrap();
    let lock = quiet_at(proxy.connect_string()).await;
    let listens = async {
        let guard = lock.write().await.unwrap();
        guard.on_revoke(|| ());
        guard.on_revoke(|| ());
        guard.verify().await.unwrap();
        guard.release().await.unwrap();
    };
    assert_eq!(
        requests(&server, listens).await,
        4 + 1 + 2,
        "the second acquisition, one to listen, and two to verify after it"
    );

    let guard = lock.write().await.unwrap();
    guard.on_revoke(|| ());
    let own = lock.participants().await.unwrap().remove(0);
    let other = quiet_client(&server).await;
    other.break_lock(&own).await.unwrap();
    soon(guard.lost()).await;
    // It is sent behind all requests from before the loss.
    lock.participants().await.unwrap();
    let all_are_answered = async || {
        let counts = proxy.counts();
        counts.requests_total() == counts.replies_total()
    };
    until(all_are_answered, "the requests from before the loss are answered").await;
    let sent = proxy.requests_total();
    // A listener that looked at its node each second would send a request.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(proxy.requests_total(), sent, "a lost guard sends requests");
    guard.release().await.unwrap_err();
}
