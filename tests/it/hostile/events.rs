//! Events that nobody asked for, one by one and without end.

use std::time::Duration;

use super::relay::Answers;
use super::{CONNECTED, PATH, Victim, event};
use crate::support::{soon, until};

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
                victim.relay.inject(&event(kind, state, path));
            }
            // An unknown event breaks the connection.
            let is_held = async || victim.guard.verify().await.is_ok();
            until(is_held, "the lock is verified").await;
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
    let attack = victim.relay.attack(kinds.concat(), pause, Answers::Arrive);
    until(async || attack.written() > 0, "the attack has begun").await;
    for _ in 0..50 {
        let other = soon(victim.client.mutex(super::OTHER).unwrap().lock()).await.unwrap();
        soon(other.release()).await.unwrap();
        soon(victim.guard.verify()).await.unwrap();
    }
    drop(attack);
    victim.assert_served().await;
}
