//! The events that listeners get, and listeners that must not disturb anything.

mod ends;
mod labels;
mod ledger;
pub(crate) mod sums;

use zklock::Events;

use self::ledger::name;
use crate::support::{PATIENCE, Server, Space, soon};

const PATH: &str = "/jobs/1";

/// Returns the names of the events up to the first one with this name.
async fn names_until(events: &mut Events, last: &str) -> Vec<String> {
    let mut names = Vec::new();
    while names.last().is_none_or(|name| name != last) {
        let event = soon(events.next()).await.expect("the client is there");
        assert_eq!(event.path, PATH);
        names.push(name(&event.kind));
    }
    names
}

#[tokio::test]
async fn a_listener_learns_that_a_lock_was_in_doubt_and_is_held() {
    let server = Server::start_granting(PATIENCE);
    let client = server.client(PATIENCE).await;
    let mut events = client.events();
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    server.kill().unwrap();
    assert_eq!(names_until(&mut events, "Suspended").await, ["Begun", "Acquired", "Suspended"]);
    server.restart().unwrap();
    assert_eq!(names_until(&mut events, "Confirmed").await, ["Confirmed"]);
    assert!(guard.is_held());
}

#[tokio::test]
async fn the_gate_of_a_semaphore_and_permits_that_were_not_all_had_are_not_spoken_of() {
    let client = Space::new().client().await;
    let semaphore = client.semaphore(PATH, 3).unwrap();
    let _two = semaphore.acquire_many(2).await.unwrap();
    let mut events = client.events();
    assert!(semaphore.try_acquire_many(2).await.unwrap().is_none());
    assert_eq!(names_until(&mut events, "Contended").await, ["Begun", "Contended"]);
    let one = semaphore.acquire().await.unwrap();
    one.release().await.unwrap();
    assert_eq!(names_until(&mut events, "Released").await, ["Begun", "Acquired", "Released"]);
}

#[tokio::test]
async fn a_listener_that_is_slow_counts_what_it_missed_and_delays_nobody() {
    let client = Space::new().client().await;
    let (mut slow, mut other) = (client.events(), client.events());
    let mutex = client.mutex(PATH).unwrap();
    for _ in 0..600 {
        mutex.lock().await.unwrap().release().await.unwrap();
        names_until(&mut other, "Released").await;
    }
    assert_eq!(other.missed(), 0);
    let first = soon(slow.next()).await.unwrap();
    assert_eq!((first.missed, slow.missed()), (1800 - 1024, 1800 - 1024));
    assert_eq!(soon(slow.next()).await.unwrap().missed, 0);
}
