//! Answers to the request for a session that no server gives.

use std::time::Duration;

use futures_util::future::join_all;
use zklock::{Config, LossReason};
use zklock_testkit::wire::{ConnectResponse, Opcode, Record};
use zklock_testkit::{How, Proxy};

use super::{PATH, until_works};
use crate::support::{Space, soon, until};

type Change = fn(&mut ConnectResponse);

/// Answers to the first frame of a connection, without and with a session of the client's.
const STRANGE: [(&str, Change); 11] = [
    ("no timeout", |answer| answer.timeout = 0),
    ("a timeout of a millisecond", |answer| answer.timeout = 1),
    ("a negative timeout", |answer| answer.timeout = -1),
    ("the longest timeout", |answer| answer.timeout = i32::MAX),
    ("no session", |answer| answer.session_id = 0),
    ("another session", |answer| answer.session_id ^= 1),
    ("no password", |answer| answer.password = None),
    ("an empty password", |answer| answer.password = Some(Vec::new().into())),
    ("a short password", |answer| answer.password = Some(vec![7].into())),
    ("a long password", |answer| answer.password = Some(vec![7; 1 << 20].into())),
    ("another protocol", |answer| answer.protocol_version = 1),
];

fn strange(proxy: &Proxy, change: Change) {
    proxy.on_reply(Opcode::CREATE_SESSION).always().rewrite(move |answer| {
        let mut answer = ConnectResponse::from_bytes(answer.to_vec().into()).expect("the server answers");
        change(&mut answer);
        answer.to_bytes().to_vec()
    });
}

fn config(space: &Space, proxy: &Proxy) -> Config {
    space.config_at(proxy.connect_string()).connect_timeout(Duration::from_secs(3))
}

#[tokio::test]
async fn a_client_that_is_given_a_strange_session_fails_or_works_and_works_in_the_end() {
    let cases = STRANGE.map(async |(name, change)| {
        let space = Space::new();
        let proxy = Proxy::start(space.server().address()).unwrap();
        strange(&proxy, change);
        drop(soon(config(&space, &proxy).connect()).await);
        let client = config(&space, &proxy).start().unwrap();
        let mutex = client.mutex(PATH).unwrap();
        drop(soon(mutex.lock_timeout(Duration::from_secs(2))).await);
        proxy.clear();
        proxy.cut(How::Rst);
        until_works(&mutex, name).await;
    });
    join_all(cases).await;
}

#[tokio::test]
async fn a_holder_that_is_given_a_strange_session_keeps_its_lock_or_is_told() {
    let cases = STRANGE.map(async |(name, change)| {
        let (proxy, client) = Space::new().proxied().await;
        let mutex = client.mutex(PATH).unwrap();
        let guard = mutex.lock().await.unwrap();
        strange(&proxy, change);
        proxy.cut(How::Rst);
        let is_settled = async || !guard.is_held() || guard.verify().await.is_ok();
        until(is_settled, name).await;
        proxy.clear();
        drop(guard);
        until_works(&mutex, name).await;
    });
    join_all(cases).await;
}

/// A server that ends a session also closes a connection that asks for the session at that moment (ZooKeeper's
/// `FinalRequestProcessor`).
#[rstest::rstest]
#[tokio::test]
async fn a_holder_whose_ended_session_is_not_answered_is_told_and_its_client_works_again(
    #[values(How::Fin, How::Rst)] how: How,
) {
    let (space, proxy, client) = Space::with_proxy().await;
    let mutex = client.mutex(PATH).unwrap();
    let guard = mutex.lock().await.unwrap();
    let unanswered = proxy.on_reply(Opcode::CREATE_SESSION).cut(how);
    space.end_session_of(&client);
    soon(unanswered.struck()).await;
    assert_eq!(soon(guard.lost()).await, LossReason::SessionEnded);
    drop(guard);
    until_works(&mutex, "the client opens another session").await;
}
