//! Members that a client may not acquire or release, and members that are given back.

use std::time::Duration;

use zklock::{LockError, Member};
use zookeeper_client as zk;

use super::{A, B, C, lock, queues};
use crate::support::frames::{Frame, Interrupted};
use crate::support::{Space, failed, soon, until_before_expiry};

/// Gives everyone only these permissions on the middle member's node, and returns a connection that has all.
async fn restrict_middle(space: &Space, permission: zk::Permission) -> zk::Client {
    let client = space.client().await;
    lock(&client, &[A, B, C]).await.release().await.unwrap();
    space.restrict(B, permission).await
}

#[tokio::test]
async fn a_member_that_is_denied_is_told_and_the_others_are_released_or_not_tried() {
    let space = Space::new();
    let _outsider = restrict_middle(&space, zk::Permission::READ).await;
    let client = space.client().await;
    let multi = client.multi([A, B, C]).unwrap();
    let outsider = space.outsider().await;
    let stat = async || outsider.check_stat(&space.full(C)).await.unwrap().unwrap();
    let untouched = stat().await.cversion;
    for error in [failed(soon(multi.lock()).await), failed(soon(multi.try_lock()).await)] {
        assert!(matches!(&error, LockError::Denied { path, .. } if path == B), "{error}");
        assert_eq!(queues(&space).await, [0, 0, 0]);
    }
    assert_eq!(stat().await.cversion, untouched, "the last member was not tried");
}

#[tokio::test]
async fn a_member_of_another_recipe_is_told_and_the_others_are_released() {
    let (space, [client, other]) = Space::with_clients().await;
    let writer = other.rwlock(B).unwrap().write().await.unwrap();
    let error = failed(soon(client.lock_all([A, B, C])).await);
    assert!(matches!(&error, LockError::MixedRecipes { path, .. } if path == B), "{error}");
    assert_eq!(queues(&space).await, [0, 1, 0]);
    let error = failed(soon(client.lock_all([Member::mutex(A), Member::exclusive(B)])).await);
    assert!(matches!(&error, LockError::MixedRecipes { path, .. } if path == B), "{error}");
    space.until_empty(A).await;
    assert!(writer.is_held());
    writer.release().await.unwrap();
    other.rwlock(B).unwrap().read().await.unwrap().release().await.unwrap();
    assert_eq!(other.rwlock(B).unwrap().participants().await.unwrap(), []);
}

#[tokio::test]
async fn a_member_that_cannot_be_released_does_not_keep_the_others() {
    let space = Space::new();
    let outsider = restrict_middle(&space, zk::Permission::READ | zk::Permission::CREATE).await;
    let client = space.client().await;
    let guard = lock(&client, &[A, B, C]).await;
    let error = failed(soon(guard.release()).await);
    assert!(matches!(&error, LockError::Denied { path, .. } if path == B), "{error}");
    let middle = async || outsider.list_children(&space.full(B)).await.unwrap().len();
    assert_eq!((space.children(A).await.len(), middle().await, space.children(C).await.len()), (0, 1, 0));
    // A node that may not be deleted ends with its session.
    client.shutdown(Duration::ZERO).await;
    until_before_expiry(async || middle().await == 0, "the node is gone").await;
}

#[tokio::test]
async fn a_body_whose_member_cannot_be_released_keeps_its_result() {
    let space = Space::new();
    let _outsider = restrict_middle(&space, zk::Permission::READ | zk::Permission::CREATE).await;
    let client = space.client().await;
    let value = soon(client.multi([A, B, C]).unwrap().run(async |_| 7)).await;
    assert_eq!(value.unwrap(), 7);
    space.until_empty(A).await;
    space.until_empty(C).await;
    client.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn one_that_gives_its_members_back_leaves_no_node_if_it_is_dropped() {
    for frame in Frame::BOTH {
        let scene = Interrupted::new().await;
        let other = scene.space.client().await;
        let taken = other.mutex(C).unwrap().lock().await.unwrap();
        let work = || {
            let multi = scene.client().multi([A, B, C]).unwrap();
            async move { assert!(multi.try_lock().await.unwrap().is_none()) }
        };
        let after = async || {
            scene.space.until_empty(A).await;
            scene.space.until_empty(B).await;
            scene.space.until_queued(C, 1).await;
        };
        let frames = scene.drop_at_each(frame, work, after).await;
        assert!(frames >= 7, "{frame:?}: {frames}");
        taken.release().await.unwrap();
    }
}
