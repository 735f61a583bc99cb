//! Bytes without answers, slow and fast, which extend no lease and no deadline, and answers to the request for a session
//! that no server gives.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::time::{sleep, timeout};
use zklock::{Config, LossReason};
use zklock_testkit::wire::{ConnectResponse, Opcode, Record};
use zklock_testkit::{How, Proxy};

use super::relay::Answers;
use super::{CONNECTED, OTHER, PATH, STALL, Victim, event, until_works};
use crate::support::{Space, soon, until};

impl Victim {
    async fn assert_calls_end(&self) {
        let started = Instant::now();
        let wait = Duration::from_secs(2);
        let other = self.client.mutex(OTHER).unwrap();
        let outcome = timeout(wait + STALL, other.lock_timeout(wait));
        let error = outcome.await.expect("a call keeps its deadline").expect_err("no server answers");
        assert!(error.is_timeout(), "{error}");
        assert!(started.elapsed() >= wait, "{error}");
    }

    async fn told(&self) -> LossReason {
        let told = timeout(Duration::from_secs(10) + STALL, self.guard.lost()).await;
        told.expect("the holder is told at the end of its lease")
    }
}

/// Attacks a holder, and checks that leases and deadlines end as if the server were silent.
async fn attacked(first: &[u8], again: Vec<u8>, pause: Duration) {
    let victim = Victim::new().await;
    let attack = victim.relay.attack(first, again, pause, Answers::Vanish).await;
    victim.assert_calls_end().await;
    assert_eq!(victim.told().await, LossReason::LeaseExpired);
    assert!(!victim.guard.is_held());
    assert!(attack.written() > 0);
    drop(attack);
}

#[tokio::test]
async fn a_trickle_within_one_frame_events_instead_of_answers_and_a_flood_within_one_frame_extend_no_lease() {
    let (claim, millis) = (i32::MAX.to_be_bytes(), Duration::from_millis);
    attacked(&claim, vec![0; 16], millis(10)).await;
    attacked(&[], event(3, CONNECTED, "/unknown/node").repeat(10), millis(1)).await;
    attacked(&claim, vec![0; 10 << 10], millis(1)).await;
}

/// The client library reads such a flood without a pause, and the client's thread does nothing else: docs/zookeeper-client.md.
#[tokio::test]
async fn a_flood_that_stops_the_thread_of_the_client_extends_no_lease() {
    let victim = Victim::new().await;
    let events = event(3, CONNECTED, "/unknown/node").repeat(1_000);
    let attack = victim.relay.attack(&[], events, Duration::ZERO, Answers::Vanish).await;
    let ended = timeout(Duration::from_secs(10) + STALL, async {
        while victim.guard.is_held() {
            sleep(Duration::from_millis(5)).await;
        }
    });
    ended.await.expect("the lease ends by the clock");
    assert!(attack.written() > 0);
    drop(attack);
    // The thread goes on when the flood is over.
    victim.told().await;
}

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
        if let Err(error) = soon(config(&space, &proxy).connect()).await {
            assert!(!error.to_string().is_empty(), "{name}");
        }
        let client = config(&space, &proxy).start().unwrap();
        let mutex = client.mutex(PATH).unwrap();
        let outcome = soon(mutex.lock_timeout(Duration::from_secs(2))).await;
        drop(outcome);
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
