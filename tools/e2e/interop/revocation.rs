//! Holders on one side that the other side asks to release.

use tokio::sync::oneshot;
use zklock::{Client, Guard, Participant};

use crate::peer::Actor;
use crate::support::{Space, soon};

const PATH: &str = "/ledger";

/// Has Java ask a zklock holder to release, and waits until the holder is notified in both ways.
pub(crate) async fn ask_ours<K>(space: &Space, recipe: &str, path: &str, mode: &str, guard: &Guard<K>) {
    let (tell, told) = oneshot::channel();
    guard.on_revoke(move || tell.send(()).unwrap());
    let mut theirs = space.actor(recipe, path).await;
    let (node, _) = theirs.participants(mode).await.remove(0);
    theirs.ask(&format!("revoke {node}")).await;
    soon(told).await.unwrap();
    soon(guard.revoked()).await;
    // The holder was only asked to release.
    assert!(guard.is_held());
}

/// Asks a holder in Java to release, which it does when it is told.
pub(crate) async fn ask_theirs(client: &Client, holder: &Participant, theirs: &mut Actor, mode: &str) {
    client.revoke(holder).await.unwrap();
    assert_eq!(theirs.event().await, "revoked");
    theirs.ask(&format!("release {mode}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_of_every_lock_in_rust_are_told_when_java_asks_for_it() {
    let space = Space::new();
    let client = space.client("ours").await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    ask_ours(&space, "mutex", PATH, "exclusive", &guard).await;
    guard.release().await.unwrap();
    let guard = client.rwlock(PATH).unwrap().read().await.unwrap();
    ask_ours(&space, "rwlock", PATH, "read", &guard).await;
    guard.release().await.unwrap();
    let guard = client.rwlock(PATH).unwrap().write().await.unwrap();
    ask_ours(&space, "rwlock", PATH, "write", &guard).await;
    guard.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_of_permits_in_rust_are_told_when_java_asks_for_them() {
    let space = Space::new();
    let client = space.client("ours").await;
    let guard = client.exclusive(PATH).unwrap().lock().await.unwrap();
    ask_ours(&space, "exclusive", PATH, "exclusive", &guard).await;
    guard.release().await.unwrap();
    let guard = client.semaphore(PATH, 3).unwrap().acquire().await.unwrap();
    ask_ours(&space, "semaphore", PATH, "1", &guard).await;
    guard.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_in_java_are_told_when_rust_asks_for_the_lock() {
    let space = Space::new();
    let client = space.client("ours").await;
    // Curator's semaphores cannot be revoked.
    for (recipe, mode) in [("mutex", "exclusive"), ("rwlock", "read"), ("rwlock", "write")] {
        let mut theirs = space.actor(recipe, PATH).await;
        theirs.ask(&format!("revocable {mode}")).await;
        theirs.ask(&format!("acquire {mode}")).await;
        let participants: Vec<Participant> = match recipe {
            "mutex" => client.mutex(PATH).unwrap().participants().await.unwrap(),
            _ => client.rwlock(PATH).unwrap().participants().await.unwrap(),
        };
        ask_theirs(&client, &participants[0], &mut theirs, mode).await;
        assert!(space.children(PATH).await.is_empty());
    }
}
