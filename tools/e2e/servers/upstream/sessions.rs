//! The states of the library, its errors and its attempts to connect again.

use std::time::{Duration, Instant};

use zklock_testkit::How;
use zklock_testkit::wire::Opcode;
use zookeeper_client as zk;

use super::peer::{Peer, SESSION};
use super::{CONNECTED, ERRORS, EXPIRED, PAUSES, REPLACED, proxied};
use crate::support::{Space, soon};

/// Long enough for the stalls of a busy machine, whose sum must be shorter than three fifths of it.
const TIMEOUT: Duration = Duration::from_secs(4);

#[tokio::test]
async fn a_connection_that_breaks_before_its_first_ping_is_answered_is_reported_as_connected() {
    let peer = Peer::granting(TIMEOUT).await;
    let (client, first) = peer.connect().await;
    let mut states = client.state_watcher();
    drop(first);
    assert_eq!(soon(states.changed()).await, zk::SessionState::Disconnected);
    let mut second = peer.accept().await;
    // Connections are refused from now on.
    drop(peer);
    second.attach(SESSION).await;
    assert_eq!(soon(states.changed()).await, zk::SessionState::SyncConnected);
    drop(second);
    assert_eq!(soon(states.changed()).await, zk::SessionState::Expired, "{CONNECTED}");
}

#[tokio::test]
async fn a_session_is_reported_as_expired_after_seven_fifths_of_its_timeout() {
    let peer = Peer::granting(TIMEOUT).await;
    let started = Instant::now();
    let (client, connection) = peer.connect().await;
    let mut states = client.state_watcher();
    drop((peer, connection));
    assert_eq!(soon(states.changed()).await, zk::SessionState::Disconnected);
    assert_eq!(soon(states.changed()).await, zk::SessionState::Expired);
    // The connection's last byte came after the start.
    assert!(started.elapsed() >= TIMEOUT * 7 / 5, "{EXPIRED}");
}

#[tokio::test]
async fn a_session_that_a_server_replaces_is_reported_as_connected_under_its_old_id() {
    let peer = Peer::granting(TIMEOUT).await;
    let (client, first) = peer.connect().await;
    let mut states = client.state_watcher();
    drop(first);
    assert_eq!(soon(states.changed()).await, zk::SessionState::Disconnected);
    let mut second = peer.accept().await;
    second.attach(zk::SessionId(SESSION.0 + 1)).await;
    assert_eq!(soon(states.changed()).await, zk::SessionState::SyncConnected, "{REPLACED}");
    assert_eq!(client.session_id(), SESSION, "{REPLACED}");
}

#[tokio::test]
async fn a_request_whose_connection_breaks_fails_with_an_error_that_depends_on_how_it_breaks() {
    let space = Space::new();
    let (proxy, client) = proxied(&space).await;
    let failure = async |how| {
        let cut = proxy.on_request(Opcode::EXISTS).cut(how);
        let answer = soon(client.check_stat("/")).await;
        assert_eq!(cut.hits(), 1);
        answer.expect_err("the connection breaks")
    };
    let (closed, reset) = (failure(How::Fin).await, failure(How::Rst).await);
    assert_eq!(closed, zk::Error::ConnectionLoss);
    assert!(matches!(reset, zk::Error::Custom(_)), "{ERRORS}: {reset:?}");
}

#[tokio::test]
async fn each_pause_between_attempts_at_a_single_server_is_twice_as_long_as_the_one_before() {
    let peer = Peer::granting(Duration::from_secs(6)).await;
    let (_client, connection) = peer.connect().await;
    drop(connection);
    drop(peer.accept().await);
    for shortest in [100, 200, 400, 800, 1600].map(Duration::from_millis) {
        // The library runs on this thread, and has not noticed yet that the last attempt failed.
        let broken = Instant::now();
        drop(peer.accept().await);
        assert!(broken.elapsed() >= shortest, "{PAUSES}: {:?} is less than {shortest:?}", broken.elapsed());
    }
}
