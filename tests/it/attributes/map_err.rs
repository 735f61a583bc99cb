//! `map_err`: functions whose error type has no conversion from a `LockError`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::spawn_blocking;
use zklock::{Client, LockError, distributed_lock, leader_only};

use super::Tracer;
use crate::support::{INSTALLED, Space, failed, soon, until_leads};

const PATH: &str = "/mapped";

/// The status of a response, which this crate could not implement a conversion for.
type Status = (u16, String);

fn unavailable(error: LockError) -> Status {
    (503, error.to_string())
}

#[distributed_lock(path = PATH, no_wait, map_err = unavailable)]
async fn by_path() -> Result<u8, Status> {
    Err((400, "the body".into()))
}

#[distributed_lock(path = PATH, no_wait, map_err = |error| format!("{name}: {}", error.is_contended()))]
async fn by_closure(name: &str) -> Result<u8, String> {
    Ok(7)
}

#[distributed_lock(path = PATH, otherwise = error, map_err = unavailable, client = client)]
fn blocking(client: &Client) -> Result<u8, Status> {
    Ok(7)
}

#[distributed_lock(path = PATH, map_err = unavailable)]
async fn until_lost(space: &Space) -> Result<u8, Status> {
    space.delete_children(PATH).await;
    std::future::pending().await
}

#[distributed_lock(path = PATH, guard = held, map_err = |_| dropped.load(Ordering::SeqCst))]
async fn telling_of_the_guard(space: &Space, callback: Tracer, dropped: Arc<AtomicBool>) -> Result<(), bool> {
    held.on_revoke(move || drop(callback));
    space.delete_children(PATH).await;
    std::future::pending().await
}

#[leader_only(path = "/elected", otherwise = error, map_err = unavailable)]
async fn led() -> Result<u8, Status> {
    Ok(7)
}

#[leader_only(path = "/elected", map_err = unavailable)]
async fn led_or_skipped() -> Result<Option<u8>, Status> {
    Ok(Some(7))
}

#[tokio::test]
async fn errors_of_the_lock_are_mapped_and_those_of_the_body_are_not() {
    let (space, client) = Space::with_client().await;
    let body = soon(zklock::scope(client.clone(), by_path())).await;
    assert_eq!(failed(body), (400, "the body".to_owned()));

    let holder = space.client().await.mutex(PATH).unwrap().lock().await.unwrap();
    let (code, text) = failed(soon(zklock::scope(client.clone(), by_path())).await);
    assert!(code == 503 && text.contains(PATH), "{text}");
    assert_eq!(failed(soon(zklock::scope(client.clone(), by_closure("job"))).await), "job: true");
    let blocked = soon(spawn_blocking({
        let client = client.clone();
        move || blocking(&client)
    }));
    assert_eq!(failed(blocked.await.unwrap()).0, 503);
    holder.release().await.unwrap();
    assert_eq!(soon(zklock::scope(client.clone(), by_closure("job"))).await.unwrap(), 7);

    let (code, text) = failed(soon(zklock::scope(client, until_lost(&space))).await);
    assert!(code == 503 && text.contains("lost"), "{text}");
}

#[tokio::test]
async fn an_error_is_mapped_after_the_end_of_the_guard() {
    let space = Space::new();
    let (callback, dropped) = Tracer::new();
    let call = telling_of_the_guard(&space, callback, dropped);
    assert!(failed(soon(zklock::scope(space.client().await, call)).await), "the guard has ended");
}

#[tokio::test]
async fn errors_of_an_election_are_mapped() {
    let (_, [leader, follower]) = Space::with_clients().await;
    until_leads(&leader, "/elected").await;
    assert_eq!(soon(zklock::scope(leader.clone(), led())).await.unwrap(), 7);
    let calls = async { (failed(led().await), led_or_skipped().await.unwrap()) };
    let ((code, text), skipped) = soon(zklock::scope(follower, calls)).await;
    assert!(code == 503 && text.contains("not the leader at /elected"), "{text}");
    assert_eq!(skipped, None);
    assert!(leader.leader("/elected").unwrap().is_leader());
    let _uninstalled = INSTALLED.read().await;
    assert_eq!(failed(led_or_skipped().await).0, 503, "there is no client");
}
