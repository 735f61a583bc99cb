//! Contenders of other client libraries among the permits and at the gate. `contract::wire` has the nodes of zklock.

use super::{GATE, LEASES, semaphore, spawn_take, take};
use crate::support::{Space, sequential, soon};

#[tokio::test]
async fn a_permit_of_another_client_library_counts() {
    let space = Space::new();
    let semaphore = semaphore(&space.client().await, 2);
    take(&semaphore, 1).await.release().await.unwrap();
    let other = space.outsider().await;
    let name = "_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lease-";
    other.create(&space.full(&format!("{LEASES}/{name}")), b"10.0.0.1", &sequential()).await.unwrap();
    let _guard = take(&semaphore, 1).await;
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    let waiting = spawn_take(&semaphore, 1);
    space.until_queued(LEASES, 3).await;
    drop(other);
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn contender_of_another_client_library_at_the_gate_is_waited_for() {
    let space = Space::new();
    let semaphore = semaphore(&space.client().await, 2);
    take(&semaphore, 1).await.release().await.unwrap();
    space.until_empty(GATE).await;
    let other = space.outsider().await;
    let name = "_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lock-";
    other.create(&space.full(&format!("{GATE}/{name}")), b"10.0.0.1", &sequential()).await.unwrap();
    let waiting = spawn_take(&semaphore, 1);
    space.until_queued(GATE, 2).await;
    assert_eq!(space.children(LEASES).await, [""; 0]);
    drop(other);
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}
