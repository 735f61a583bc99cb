//! Participants agree on the number of permits, and on the recipe of the path.

use zklock::LockError;
use zookeeper_client as zk;

use super::{GATE, LEASES, PATH, semaphore, spawn_take, take, until_nothing_is_left};
use crate::support::{Space, failed, soon};

#[track_caller]
fn check_differ(error: &LockError, expected: (u32, u32)) {
    let LockError::PermitsDiffer { path, ours, theirs, .. } = error else { panic!("{error}") };
    assert_eq!((path.as_str(), *ours, *theirs), (PATH, expected.0, expected.1));
    assert_eq!(
        error.to_string(),
        format!("semaphore {PATH} has {} permits for others, but {} here", expected.1, expected.0)
    );
}

#[tokio::test]
async fn another_number_of_permits_is_an_error_that_names_both_and_leaves_nothing() {
    let space = Space::new();
    let guard = take(&semaphore(&space.client().await, 3), 1).await;
    space.until_empty(GATE).await;
    let other = space.client().await;
    for (permits, wanted) in [(5, 1), (2, 2), (1, 1), (5, 5)] {
        let differing = semaphore(&other, permits);
        check_differ(&failed(soon(differing.acquire_many(wanted)).await), (permits, 3));
        assert_eq!((space.children(LEASES).await.len(), space.children(GATE).await.len()), (1, 0));
    }
    check_differ(&failed(soon(semaphore(&other, 5).try_acquire()).await), (5, 3));
    assert_eq!((space.children(LEASES).await.len(), space.children(GATE).await.len()), (1, 0));
    assert!(guard.is_held());
    let agreeing = take(&semaphore(&other, 3), 2).await;
    agreeing.release().await.unwrap();
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn the_number_changes_when_nobody_has_a_permit() {
    let (space, [old, new]) = Space::with_clients().await;
    for permits in [3, 5, 2] {
        let guard = take(&semaphore(&new, permits), permits).await;
        check_differ(&failed(soon(semaphore(&old, 4).acquire()).await), (4, permits));
        guard.release().await.unwrap();
        until_nothing_is_left(&space).await;
    }
    take(&semaphore(&old, 4), 4).await.release().await.unwrap();
    let stated = space.outsider().await.get_data(&space.full(PATH)).await.unwrap().0;
    assert_eq!(stated, b"4");
}

#[tokio::test]
async fn data_that_is_no_number_is_left_alone_and_disturbs_nobody() {
    let (space, client) = Space::with_client().await;
    take(&semaphore(&client, 2), 1).await.release().await.unwrap();
    let outsider = space.outsider().await;
    outsider.set_data(&space.full(PATH), b"127.0.0.1", None).await.unwrap();
    let _guard = take(&semaphore(&client, 2), 2).await;
    assert!(semaphore(&client, 2).try_acquire().await.unwrap().is_none());
    assert_eq!(outsider.get_data(&space.full(PATH)).await.unwrap().0, b"127.0.0.1");
}

#[tokio::test]
async fn a_semaphore_of_one_and_a_lock_that_is_not_reentrant_exclude_each_other() {
    let (space, [client, other]) = Space::with_clients().await;
    let exclusive = other.exclusive(PATH).unwrap();
    let guard = take(&semaphore(&client, 1), 1).await;
    assert!(exclusive.try_lock().await.unwrap().is_none());
    guard.release().await.unwrap();
    let guard = exclusive.lock().await.unwrap();
    check_differ(&failed(soon(semaphore(&client, 2).acquire()).await), (2, 1));
    let waiting = spawn_take(&semaphore(&client, 1), 1);
    space.until_queued(LEASES, 2).await;
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn client_that_may_not_state_the_number_is_denied_and_leaves_nothing() {
    use zk::Permission as P;
    let space = Space::new();
    space.restrict(PATH, P::READ | P::CREATE | P::DELETE).await;
    let error = failed(soon(semaphore(&space.client().await, 2).acquire()).await);
    assert!(matches!(&error, LockError::Denied { path, .. } if path == PATH), "{error}");
    assert_eq!((space.children(LEASES).await, space.children(GATE).await), (vec![], vec![]));
}
