//! Members that are lost, under a holder and while other members are waited for.

use std::time::{Duration, Instant};

use zklock::{Config, LeaseState, LockError, LockEventKind, LossReason};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;

use super::{A, B, C, lock, queues, spawn_lock, until_nothing_is_left};
use crate::requests::{PATIENCE, quiet_client};
use crate::support::{Server, Space, TICK, failed, outsider_at, soon, until};

#[tokio::test]
async fn the_loss_of_any_member_is_the_loss_of_all() {
    let space = Space::new();
    let client = space.client().await;
    for lost in [A, B, C] {
        let guard = lock(&client, &[A, B, C]).await;
        space.delete_children(lost).await;
        assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
        assert_eq!(guard.state(), LeaseState::Lost(LossReason::NodeDeleted));
        let error = failed(guard.verify().await);
        assert!(matches!(&error, LockError::Lost { path, .. } if path == lost), "{error}");
        let error = failed(guard.run(std::future::pending::<()>()).await);
        assert!(matches!(&error, LockError::Lost { path, .. } if path == lost), "{error}");
        let error = failed(guard.release().await);
        assert!(matches!(&error, LockError::Lost { path, .. } if path == lost), "{error}");
        assert_eq!(queues(&space).await, [0, 0, 0], "the others are released");
    }
}

#[tokio::test]
async fn a_body_is_dropped_when_any_member_is_lost() {
    let space = Space::new();
    let client = space.client().await;
    for lost in [A, B, C] {
        let multi = client.multi([A, B, C]).unwrap();
        let (started, has_started) = tokio::sync::oneshot::channel();
        let body = tokio::spawn(async move {
            multi
                .run(async |_| {
                    started.send(()).unwrap();
                    std::future::pending::<()>().await;
                })
                .await
        });
        soon(has_started).await.unwrap();
        space.delete_children(lost).await;
        let error = failed(soon(body).await.unwrap());
        assert!(matches!(&error, LockError::Lost { path, .. } if path == lost), "{error}");
        until_nothing_is_left(&space).await;
    }
}

#[tokio::test]
async fn a_member_that_is_lost_while_another_is_waited_for_is_taken_anew_with_all_others() {
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
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
async fn one_that_waits_when_its_session_ends_takes_all_members_in_the_next() {
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
    let single = other.mutex(C).unwrap().lock().await.unwrap();
    let waiting = spawn_lock(&client, &[A, B, C]);
    space.until_queued(C, 2).await;
    let before = client.session_id();
    space.end_session_of(&client);
    until(|| async { client.session_id().is_some_and(|id| Some(id) != before) }, "there is a session").await;
    single.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    guard.verify().await.unwrap();
    assert_eq!(queues(&space).await, [1, 1, 1]);
    for path in [A, B, C] {
        let holder = &other.mutex(path).unwrap().participants().await.unwrap()[0];
        assert_eq!(Some(holder.session_id), client.session_id());
    }
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn losses_do_not_prolong_the_deadline() {
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
    let single = other.mutex(B).unwrap().lock().await.unwrap();
    let multi = client.multi([A, B]).unwrap();
    let wait = Duration::from_secs(6);
    let started = Instant::now();
    let waiting = tokio::spawn(async move { multi.lock_timeout(wait).await });
    space.until_queued(B, 2).await;
    tokio::time::sleep_until((started + wait / 2).into()).await;
    space.delete_children(A).await;
    let error = failed(soon(waiting).await.unwrap());
    let elapsed = started.elapsed();
    assert!(error.is_timeout(), "{error}");
    assert!(elapsed >= wait && elapsed < wait * 3 / 2, "{elapsed:?}");
    space.until_queued(B, 1).await;
    single.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn what_was_taken_is_not_waited_for_past_the_deadline() {
    let long = Duration::from_secs(60);
    let server = Server::start_granting(long);
    let connect = async || {
        let config = Config::new(server.connect_string()).session_timeout(long).default_wait(long);
        config.tick_time(TICK).connect().await.unwrap()
    };
    let (holder, client) = (connect().await, connect().await);
    let held = holder.mutex(B).unwrap().lock().await.unwrap();
    let multi = client.multi([A, B]).unwrap();
    let waiting = tokio::spawn(async move { multi.lock_timeout(Duration::from_secs(2)).await });
    let queued = || async { holder.mutex(B).unwrap().participants().await.unwrap().len() == 2 };
    until(queued, "it waits for the second").await;
    server.pause().unwrap();
    assert!(failed(soon(waiting).await.unwrap()).is_timeout());
    server.resume().unwrap();
    held.release().await.unwrap();
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
