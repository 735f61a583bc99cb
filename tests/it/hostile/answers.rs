//! Frames that are no answers, answers that are cut, foreign or for nobody, and events that nobody asked for.

use std::time::Duration;

use super::relay::Answers;
use super::{CONNECTED, HEADER, OTHER, PATH, Victim, event, until_works};
use crate::support::{Space, soon, until};

fn frame(length: i32, body: &[u8]) -> Vec<u8> {
    [&length.to_be_bytes()[..], body].concat()
}

/// Frames that break the protocol, with what is wrong about them.
fn broken_frames() -> [(&'static str, Vec<u8>); 6] {
    // The number of a request, a transaction and an error.
    let header = |xid: i32| [&xid.to_be_bytes()[..], &[0; 12]].concat();
    [
        ("a negative length", frame(-1, &[])),
        ("the least length", frame(i32::MIN, &[])),
        ("no content", frame(0, &[])),
        ("less than a header", frame(7, &[0; 7])),
        ("the answer to a request that was never made", frame(16, &header(1_000_000))),
        ("the answer to a ping that was never sent", frame(16, &header(-2))),
    ]
}

#[tokio::test]
async fn a_frame_that_is_no_answer_ends_its_connection_and_not_the_hold() {
    let victim = Victim::new().await;
    for (wrong, bytes) in broken_frames() {
        let before = victim.relay.connections();
        victim.relay.inject(&bytes).await;
        // A ping may be under way, to which the last frame is an answer.
        if !wrong.contains("ping") {
            until(async || victim.relay.connections() > before, wrong).await;
        }
        let is_held = async || victim.guard.verify().await.is_ok();
        until(is_held, wrong).await;
        let other = soon(victim.client.mutex(OTHER).unwrap().lock()).await.unwrap();
        soon(other.release()).await.unwrap();
    }
    // The last frame may break the connection late.
    until(async || victim.guard.is_held(), "the lock is held").await;
    victim.assert_served().await;
}

type Distortion = fn(&[u8]) -> Vec<u8>;

const DISTORTIONS: [(&str, Distortion); 7] = [
    ("empty", |_| Vec::new()),
    ("less than a header", |answer| answer[..HEADER.min(answer.len()) - 1].to_vec()),
    ("a header alone", |answer| answer[..HEADER].to_vec()),
    ("cut in the middle", |answer| answer[..HEADER + (answer.len() - HEADER) / 2].to_vec()),
    ("of another type", |answer| [&answer[..HEADER], &[0, 0, 0, 1, b'x', 0, 0, 0, 9]].concat()),
    ("for another request", |answer| [&999_999_i32.to_be_bytes()[..], &answer[4..]].concat()),
    ("a failure that nobody knows", |answer| [&answer[..12], &(-77_i32).to_be_bytes()[..]].concat()),
];

/// Distorts each answer that a client gets while it takes and releases a lock, one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_none_fails_its_request_and_leaves_no_contender() {
    for (name, distortion) in DISTORTIONS {
        let (space, proxy, client) = Space::with_proxy().await;
        for n in 1.. {
            let struck = proxy.on_any_reply().nth(n).rewrite(distortion);
            let mutex = client.mutex(PATH).unwrap();
            // An error is fine, and a panic or silence is not.
            let outcome = soon(async {
                let guard = mutex.lock_timeout(Duration::from_secs(10)).await?;
                guard.release().await
            });
            let outcome = outcome.await;
            let hits = struck.hits();
            proxy.clear();
            if let Err(error) = outcome {
                assert!(!error.to_string().is_empty());
                assert!(hits > 0, "{name}, {n}: {error}");
            }
            space.until_empty(PATH).await;
            until_works(&mutex, name).await;
            space.until_empty(PATH).await;
            if hits == 0 {
                assert!(n > 2, "{name}: a lock has at least two answers");
                break;
            }
        }
    }
}

/// Created, deleted, data changed, children changed; then those that tell of the ends of watches, and unknown ones.
const TYPES: [i32; 10] = [1, 2, 3, 4, -1, 5, 6, 7, 0, 99];

#[tokio::test]
async fn an_event_of_any_type_and_state_neither_ends_a_hold_nor_the_client() {
    let victim = Victim::new().await;
    let lock = victim.space.full(PATH);
    let own = format!("{lock}/{}", victim.space.children(PATH).await[0]);
    let paths = [lock.as_str(), own.as_str(), "/", "", "nonsense", "\u{e9}", "/unknown/node"];
    for kind in TYPES {
        for state in [CONNECTED, -1, 0, 1, 4, 5, 6, 99] {
            for path in paths {
                victim.relay.inject(&event(kind, state, path)).await;
            }
            // An unknown event breaks the connection.
            until(async || victim.guard.verify().await.is_ok(), "the lock is verified").await;
        }
    }
    victim.assert_served().await;
}

#[tokio::test]
async fn endless_events_keep_no_request_from_its_answer() {
    let victim = Victim::new().await;
    let lock = victim.space.full(PATH);
    let own = format!("{lock}/{}", victim.space.children(PATH).await[0]);
    let kinds = [1, 2, 3, 4].map(|kind| {
        let about = |path: &str| event(kind, CONNECTED, path);
        [about(&lock), about(&own), about("/unknown/node")].concat()
    });
    // So many that the client, built without optimizations, has time left on a busy machine.
    let pause = Duration::from_millis(if cfg!(soak) { 1 } else { 10 });
    let attack = victim.relay.attack(&[], kinds.concat(), pause, Answers::Arrive).await;
    until(async || attack.written() > 0, "the attack has begun").await;
    for _ in 0..50 {
        let other = soon(victim.client.mutex(OTHER).unwrap().lock()).await.unwrap();
        soon(other.release()).await.unwrap();
        soon(victim.guard.verify()).await.unwrap();
    }
    drop(attack);
    victim.assert_served().await;
}
