//! Requests to release, and the holders that get them.

use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::oneshot;
use zklock::{Client, LossReason, Mode, MutexGuard, Participant};
use zklock_testkit::How;
use zklock_testkit::wire::Opcode;

use crate::support::{Space, failed, lock, soon, spawn_lock, until};

const PATH: &str = "/reports/daily";
/// Curator's `LockInternals.REVOKE_MESSAGE`.
const MESSAGE: &[u8] = b"__REVOKE__";

async fn participants(client: &Client) -> Vec<Participant> {
    client.mutex(PATH).unwrap().participants().await.unwrap()
}

async fn holder(client: &Client) -> Participant {
    participants(client).await.remove(0)
}

async fn write_as_outsider(space: &Space, participant: &Participant, data: &[u8]) {
    let node = space.full(&format!("{}/{}", participant.path, participant.node));
    space.outsider().await.set_data(&node, data, None).await.unwrap();
}

/// Registers a callback. The receiver completes when the callback is called, and fails when it is dropped
/// uncalled.
fn listen(guard: &MutexGuard) -> oneshot::Receiver<()> {
    let (called, is_called) = oneshot::channel();
    guard.on_revoke(move || called.send(()).unwrap());
    is_called
}

#[tokio::test]
async fn curators_message_is_heard_and_other_data_is_not() {
    let (space, client) = Space::with_client().await;
    let guard = lock(&client, PATH).await;
    let called = listen(&guard);
    let own = holder(&client).await;
    for other in [&b"10.0.0.1"[..], b"", b"__REVOKE__ ", b"__revoke__"] {
        write_as_outsider(&space, &own, other).await;
    }
    let mut revoked = Box::pin(guard.revoked());
    tokio::select! {
        biased;
        () = &mut revoked => panic!("nobody asked"),
        verified = guard.verify() => verified.unwrap(),
    }
    assert!(!called.is_terminated() && called.is_empty());
    write_as_outsider(&space, &own, MESSAGE).await;
    soon(revoked).await;
    soon(called).await.unwrap();
}

#[tokio::test]
async fn a_request_that_comes_before_anybody_listens_is_heard() {
    let client = Space::new().client().await;
    let guard = lock(&client, PATH).await;
    client.revoke(&holder(&client).await).await.unwrap();
    soon(guard.revoked()).await;
    soon(listen(&guard)).await.unwrap();
    soon(guard.revoked()).await;
}

#[tokio::test]
async fn a_waiter_that_is_asked_to_release_hears_of_it_when_it_holds() {
    let (space, [a, b]) = Space::with_clients().await;
    let guard = lock(&a, PATH).await;
    let waiting = spawn_lock(&b, PATH);
    space.until_queued(PATH, 2).await;
    a.revoke(&participants(&a).await[1]).await.unwrap();
    guard.release().await.unwrap();
    let guard = soon(waiting).await.unwrap();
    soon(guard.revoked()).await;
}

#[tokio::test]
async fn every_callback_is_called_once_however_often_the_holder_is_asked() {
    let client = Space::new().client().await;
    let guard = lock(&client, PATH).await;
    let inner = guard.scope(client.mutex(PATH).unwrap().lock()).await.unwrap();
    let (call, calls) = mpsc::channel();
    for (name, guard) in [("outer", &guard), ("outer", &guard), ("inner", &inner)] {
        let call = call.clone();
        guard.on_revoke(move || call.send(name).unwrap());
    }
    drop(call);
    let own = holder(&client).await;
    for _ in 0..3 {
        client.revoke(&own).await.unwrap();
    }
    soon(async { tokio::join!(guard.revoked(), inner.revoked()) }).await;
    // The channel ends with the last callback.
    let called = tokio::task::spawn_blocking(move || calls.iter().collect::<Vec<_>>());
    let mut called = soon(called).await.unwrap();
    called.sort_unstable();
    assert_eq!(called, ["inner", "outer", "outer"]);
}

#[tokio::test]
async fn callback_is_not_called_after_the_release_and_the_request_is_no_error() {
    let client = Space::new().client().await;
    let guard = lock(&client, PATH).await;
    let called = listen(&guard);
    let own = holder(&client).await;
    guard.release().await.unwrap();
    client.revoke(&own).await.unwrap();
    assert!(soon(called).await.is_err(), "the callback is dropped without a call");
    client.break_lock(&own).await.unwrap();
    // The next holder is not affected.
    let guard = lock(&client, PATH).await;
    client.revoke(&own).await.unwrap();
    client.break_lock(&own).await.unwrap();
    guard.verify().await.unwrap();
}

#[tokio::test]
async fn a_guard_inside_of_another_calls_nobody_after_its_release() {
    let client = Space::new().client().await;
    let outer = lock(&client, PATH).await;
    let inner = outer.scope(lock(&client, PATH)).await;
    let (called, outer_called) = (listen(&inner), listen(&outer));
    inner.release().await.unwrap();
    assert!(soon(called).await.is_err());
    client.revoke(&holder(&client).await).await.unwrap();
    soon(outer_called).await.unwrap();
}

#[tokio::test]
async fn callbacks_that_block_or_panic_disturb_nobody() {
    let (space, [a, b]) = Space::with_clients().await;
    let guard = lock(&a, PATH).await;
    let (end, ended) = mpsc::channel::<()>();
    let (blocks, is_blocked) = oneshot::channel();
    guard.on_revoke(|| panic!("a callback of a test panics"));
    guard.on_revoke(move || {
        blocks.send(()).unwrap();
        ended.recv().unwrap_err();
    });
    let called = listen(&guard);
    b.revoke(&holder(&b).await).await.unwrap();
    soon(is_blocked).await.unwrap();
    soon(called).await.unwrap();
    guard.verify().await.unwrap();
    a.mutex("/elsewhere").unwrap().lock().await.unwrap().release().await.unwrap();
    let waiting = spawn_lock(&b, PATH);
    space.until_queued(PATH, 2).await;
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().release().await.unwrap();
    drop(end);
}

#[tokio::test]
async fn a_request_that_comes_while_the_holder_is_cut_off_is_heard() {
    let space = Space::new();
    let ((proxy, client), other) = (space.proxied().await, space.client().await);
    for is_watched in [true, false] {
        let guard = lock(&client, PATH).await;
        let reads = proxy.replies(Opcode::GET_DATA);
        let called = is_watched.then(|| listen(&guard));
        if is_watched {
            until(|| async { proxy.replies(Opcode::GET_DATA) > reads }, "the data is looked at").await;
        }
        let back = proxy.on_request(Opcode::CREATE_SESSION).hold();
        proxy.cut(How::Rst);
        soon(back.struck()).await;
        other.revoke(&holder(&other).await).await.unwrap();
        let called = called.unwrap_or_else(|| listen(&guard));
        back.release();
        soon(called).await.unwrap();
        soon(guard.revoked()).await;
        guard.verify().await.unwrap();
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn downgrade_loses_neither_the_callback_nor_the_request_that_came_before() {
    let client = Space::new().client().await;
    let rwlock = client.rwlock(PATH).unwrap();
    for is_asked_before in [false, true] {
        let writer = rwlock.write().await.unwrap();
        let (called, is_called) = oneshot::channel();
        writer.on_revoke(move || called.send(()).unwrap());
        let ask = async || client.revoke(&rwlock.participants().await.unwrap()[0]).await.unwrap();
        if is_asked_before {
            ask().await;
        }
        let reader = writer.downgrade().await.unwrap();
        assert!(is_asked_before || is_called.is_empty() && !is_called.is_terminated());
        if !is_asked_before {
            ask().await;
        }
        soon(is_called).await.unwrap();
        soon(reader.revoked()).await;
        let participants = rwlock.participants().await.unwrap();
        assert_eq!((participants.len(), participants[0].mode), (1, Mode::Read));
    }
}

#[tokio::test]
async fn a_client_that_is_closed_lists_and_asks_nobody() {
    let (_, [a, b]) = Space::with_clients().await;
    let guard = lock(&a, PATH).await;
    let own = holder(&b).await;
    b.shutdown(Duration::ZERO).await;
    let listed = failed(b.mutex(PATH).unwrap().participants().await);
    for error in [listed, failed(b.revoke(&own).await), failed(b.break_lock(&own).await)] {
        assert!(error.is_closed(), "{error}");
    }
    guard.verify().await.unwrap();
}

#[tokio::test]
async fn place_that_is_taken_away_by_force_is_a_loss_for_its_holder_and_a_waiter_enters_again_at_the_tail() {
    let (space, [a, b, c]) = Space::with_clients().await;
    let guard = lock(&a, PATH).await;
    let called = listen(&guard);
    let expelled = spawn_lock(&b, PATH);
    space.until_queued(PATH, 2).await;
    let last = spawn_lock(&c, PATH);
    space.until_queued(PATH, 3).await;
    a.break_lock(&participants(&a).await[1]).await.unwrap();
    let is_last = || async {
        let sessions: Vec<_> = participants(&a).await.iter().map(|one| Some(one.session_id)).collect();
        sessions == [a.session_id(), c.session_id(), b.session_id()]
    };
    until(is_last, "it is at the tail").await;
    b.break_lock(&holder(&b).await).await.unwrap();
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
    assert!(failed(guard.release().await).is_lost());
    assert!(soon(called).await.is_err(), "nobody asked");
    let next = soon(last).await.unwrap();
    assert!(!expelled.is_finished());
    next.release().await.unwrap();
    soon(expelled).await.unwrap().release().await.unwrap();
    space.until_empty(PATH).await;
}
