//! The nodes on the server are those of Curator's `InterProcessSemaphoreV2`.

use std::collections::BTreeSet;

use super::{GATE, LEASES, PATH, semaphore, spawn_take, take, until_nothing_is_left};
use crate::support::{Space, sequential, soon};

/// Checks a name such as `_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lease-0000000003`.
#[track_caller]
fn check_name(name: &str, base: &str) {
    let rest = name.strip_prefix("_c_").expect(name);
    let (uuid, rest) = rest.split_at(36);
    let groups: Vec<_> = uuid.split('-').map(str::len).collect();
    assert_eq!(groups, [8, 4, 4, 4, 12], "{name}");
    assert!(uuid.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f' | '-')), "{name}");
    let sequence = rest.strip_prefix(base).expect(name);
    assert!(sequence.len() == 10 && sequence.chars().all(|c| c.is_ascii_digit()), "{name}");
}

#[tokio::test]
async fn names_owners_and_data_are_those_of_curator() {
    let space = Space::new();
    let client = space.config().identity("10.0.0.7").connect().await.unwrap();
    let semaphore = semaphore(&client, 2);
    let guard = take(&semaphore, 2).await;
    space.until_empty(GATE).await;
    let waiting = spawn_take(&semaphore, 1);
    space.until_queued(LEASES, 3).await;

    let outsider = space.outsider().await;
    let mut children = space.children(PATH).await;
    children.sort();
    assert_eq!(children, ["leases", "locks"]);
    for (parent, base, count) in [(GATE, "-lock-", 1), (LEASES, "-lease-", 3)] {
        let children = space.children(parent).await;
        let mut uuids = BTreeSet::new();
        for name in children {
            check_name(&name, base);
            uuids.insert(name[3..39].to_owned());
            let node = space.full(&format!("{parent}/{name}"));
            let (data, stat) = outsider.get_data(&node).await.unwrap();
            assert_eq!(
                (data.as_slice(), Some(stat.ephemeral_owner)),
                (&b"10.0.0.7"[..], client.session_id())
            );
        }
        assert_eq!(uuids.len(), count, "each node has one of its own");
    }
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_permit_of_another_client_library_counts() {
    let space = Space::new();
    let semaphore = semaphore(&space.client().await, 2);
    take(&semaphore, 1).await.release().await.unwrap();
    let other = space.outsider().await;
    let name = "_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lease-";
    other.create(&space.full(&format!("{LEASES}/{name}")), b"10.0.0.1", &sequential()).await.unwrap();
    let guard = take(&semaphore, 1).await;
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    let waiting = spawn_take(&semaphore, 1);
    space.until_queued(LEASES, 3).await;
    drop(other);
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
    guard.release().await.unwrap();
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
    until_nothing_is_left(&space).await;
}
