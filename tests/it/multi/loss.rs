//! Members that are lost, that a client may not acquire or release, and that are given back.

use std::time::{Duration, Instant};

use zklock::{Config, LeaseState, LockError, LockEventKind, LossReason};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;
use zookeeper_client as zk;

use super::{A, B, C, lock, queues, spawn_lock, until_nothing_is_left};
use crate::requests::{PATIENCE, quiet_client};
use crate::support::frames::{Frame, Interrupted};
use crate::support::{Server, Space, failed, outsider_at, soon, until, until_before_expiry};

#[tokio::test]
async fn the_loss_of_any_member_is_the_loss_of_all() {
    let (space, client) = Space::with_client().await;
    for lost in [A, B, C] {
        let guard = lock(&client, &[A, B, C]).await;
        space.delete_children(lost).await;
        assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
        assert_eq!(guard.state(), LeaseState::Lost(LossReason::NodeDeleted));
        let errors = [failed(guard.verify().await), failed(guard.run(std::future::pending::<()>()).await)];
        for error in errors.into_iter().chain([failed(guard.release().await)]) {
            assert!(matches!(&error, LockError::Lost { path, .. } if path == lost), "{error}");
        }
        assert_eq!(queues(&space).await, [0, 0, 0], "the others are released");
    }
}

#[tokio::test]
async fn a_member_that_is_lost_while_another_is_waited_for_is_taken_anew_with_all_others() {
    let (space, [client, other]) = Space::with_clients().await;
    let single = other.mutex(B).unwrap().lock().await.unwrap();
    let mut events = client.events();
    let waiting = spawn_lock(&client, &[A, B]);
    space.until_queued(B, 2).await;
    space.delete_children(A).await;
    while !matches!(soon(events.next()).await.unwrap().kind, LockEventKind::Lost { .. }) {}
    // Another client holds the first member meanwhile.
    let rival = other.mutex(A).unwrap().lock().await.unwrap();
    single.release().await.unwrap();
    space.until_queued(A, 2).await;
    space.until_empty(B).await;
    assert!(!waiting.is_finished());
    let token = rival.fencing_token();
    rival.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert!(guard.is_held() && guard.fencing_token(A) > Some(token));
    guard.verify().await.unwrap();
    assert_eq!(queues(&space).await, [1, 1, 0]);
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn members_that_are_given_back_after_a_loss_are_not_waited_for_past_the_deadline() {
    let server = Server::start_granting(PATIENCE);
    let proxy = Proxy::start(server.address()).unwrap();
    let config = Config::new(proxy.connect_string()).session_timeout(PATIENCE).default_wait(PATIENCE);
    let client = config.server_timeout(PATIENCE / 3).connect().await.unwrap();
    let holder = quiet_client(&server).await;
    let contenders = async |path| holder.mutex(path).unwrap().participants().await.unwrap();
    let held = holder.mutex(B).unwrap().lock().await.unwrap();
    let mut events = client.events();
    let multi = client.multi([A, B]).unwrap();
    let (started, wait) = (Instant::now(), Duration::from_secs(6));
    let waiting = tokio::spawn(async move { multi.lock_timeout(wait).await });
    until(async || contenders(B).await.len() == 2, "it waits for the second member").await;
    let outsider = outsider_at(server.connect_string()).await;
    let first = format!("{A}/{}", contenders(A).await[0].node);
    outsider.delete(&first, None).await.unwrap();
    while !matches!(soon(events.next()).await.unwrap().kind, LockEventKind::Lost { .. }) {}
    let silence = proxy.on_request(Opcode::DELETE).hold();
    held.release().await.unwrap();
    soon(silence.struck()).await;
    let error = failed(soon(waiting).await.unwrap());
    let elapsed = started.elapsed();
    assert!(matches!(&error, LockError::Lost { path, .. } if path == A), "{error}");
    assert!(elapsed >= wait && elapsed < wait * 3 / 2, "{elapsed:?}");
    silence.release();
    for path in [A, B] {
        until(async || contenders(path).await.is_empty(), "nothing is left").await;
    }
}

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
async fn a_member_that_cannot_be_released_keeps_neither_the_others_nor_the_result_of_a_body() {
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
    let client = space.client().await;
    assert_eq!(soon(client.multi([A, B, C]).unwrap().run(async |_| 7)).await.unwrap(), 7);
    space.until_empty(A).await;
    space.until_empty(C).await;
    client.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_call_that_gives_its_members_back_leaves_no_node_if_it_is_dropped() {
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
