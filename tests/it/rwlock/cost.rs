//! The number of requests that a read-write lock costs, counted by a server.

use std::time::Duration;

use zklock::RwLock;
use zklock_testkit::Proxy;

use super::PATH;
use crate::requests::{PATIENCE, quiet_client, quiet_client_at, requests};
use crate::support::{Server, soon, until};

async fn quiet_at(connect: &str) -> RwLock {
    let lock = quiet_client_at(connect).await.rwlock(PATH).unwrap();
    lock.read().await.unwrap().release().await.unwrap();
    lock
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
