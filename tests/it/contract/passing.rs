//! A lock that goes from one call of a client to the next under one node.

use std::time::Duration;

use futures_util::FutureExt;
use rstest_reuse::apply;
use tokio::task::{JoinHandle, JoinSet};
use zklock::{Health, LeaseState, LockError, LockEventKind, LossReason, Queueing};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Hold, How, Proxy};

use super::face::{Face, Held, LONG};
use super::templates::every_passed_lock;
use super::{PATH, Scene};
use crate::support::{Space, failed, soon, until};

const DATA: &str = "/data";
type Waiting = JoinHandle<Result<Held, LockError>>;

/// Returns a client whose turns no test outlasts.
async fn line(face: Face) -> Scene {
    Scene::of(Space::new(), face, |config| config.queueing(Queueing::new(64, LONG))).await
}

impl Scene {
    /// Takes the lock, and lets other calls of the client wait for it one after the other.
    async fn held_before<const CALLS: usize>(&self) -> (Held, [Waiting; CALLS]) {
        let guard = self.lock.lock().await.unwrap();
        self.face.until_contending(&self.space, PATH, 1).await;
        let mut waiting = Vec::new();
        for count in 1..=CALLS {
            waiting.push(self.lock.spawn());
            self.lock.until_in_line(count as u32).await;
        }
        (guard, waiting.try_into().unwrap())
    }

    /// Returns the numbers of requests which are neither heartbeats nor watches.
    fn requests(&self) -> [u64; 4] {
        let of_locks = [Opcode::CREATE2, Opcode::GET_CHILDREN, Opcode::GET_CHILDREN2, Opcode::DELETE];
        of_locks.map(|opcode| self.proxy.requests(opcode))
    }
}

/// Sends a guarded write and drops it before it reaches the server.
async fn write_unanswered(proxy: &Proxy, guard: &Held, data: &str) -> Hold {
    let held = proxy.on_request(Opcode::MULTI).hold();
    let write = guard.set_data(DATA, data);
    tokio::select! {
        written = write => panic!("the write is held back: {written:?}"),
        () = soon(held.struck()) => held,
    }
}

async fn yield_often() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[apply(every_passed_lock)]
async fn calls_are_served_in_their_order_under_one_node_without_a_request(face: Face) {
    let line = line(face).await;
    let mut events = line.client.events();
    let (mut guard, waiters) = line.held_before::<5>().await;
    let (before, mut tokens) = (line.requests(), vec![guard.fencing_token()]);
    for (nth, waiter) in waiters.into_iter().enumerate() {
        guard.release().await.unwrap();
        // A try that finds nobody in line asks the server for a permit.
        if nth < 4 {
            assert!(line.lock.try_lock().await.unwrap().is_none());
        }
        guard = soon(waiter).await.unwrap().unwrap();
        let token = guard.fencing_token();
        assert_eq!((token.zxid(), token.handoff() as usize), (tokens[0].zxid(), nth + 1));
        tokens.push(token);
    }
    assert_eq!(line.requests(), before);
    line.end(guard).await;
    line.client.shutdown(Duration::ZERO).await;
    drop((line.lock, line.client));
    let (mut queued, mut acquired, mut given) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(event) = soon(events.next()).await {
        match event.kind {
            LockEventKind::Queued { ahead, .. } => queued.push(ahead),
            LockEventKind::Acquired { fencing_token, .. } => acquired.push(fencing_token),
            LockEventKind::PassedOn { fencing_token, .. } => given.push((fencing_token, true)),
            LockEventKind::Released { fencing_token, .. } => given.push((fencing_token, false)),
            _ => {}
        }
    }
    assert_eq!(queued, [1, 2, 3, 4, 5]);
    assert_eq!(acquired, tokens);
    let last = tokens.len() - 1;
    let expected: Vec<_> = tokens.into_iter().enumerate().map(|(nth, token)| (token, nth < last)).collect();
    assert_eq!(given, expected);
}

#[apply(every_passed_lock)]
async fn try_after_a_release_finds_no_contender_of_a_call_that_was_served(face: Face) {
    let line = line(face).await;
    for _ in 0..5 {
        let (guard, [waiting]) = line.held_before().await;
        guard.release().await.unwrap();
        soon(waiting).await.unwrap().unwrap().release().await.unwrap();
        let guard = line.lock.try_lock().await.unwrap().expect("nobody holds it or waits for it");
        guard.release().await.unwrap();
    }
    line.until_nothing_is_left().await;
}

#[apply(every_passed_lock)]
async fn write_under_way_delays_the_next_holder_until_it_is_answered(face: Face) {
    let line = line(face).await;
    let (first, [second, waiting]) = line.held_before().await;
    // Once the lock is passed on, only the write keeps it from that.
    first.release().await.unwrap();
    let guard = soon(second).await.unwrap().unwrap();
    guard.create(DATA, "first").await.unwrap();
    let held = write_unanswered(&line.proxy, &guard, "second").await;
    let token = guard.fencing_token();
    let releasing = tokio::spawn(guard.release());
    yield_often().await;
    assert!(!waiting.is_finished() && !releasing.is_finished());
    held.release();
    let guard = soon(waiting).await.unwrap().unwrap();
    soon(releasing).await.unwrap().unwrap();
    assert_eq!((guard.fencing_token().zxid(), guard.fencing_token().handoff()), (token.zxid(), 2));
    let data = line.space.outsider().await.get_data(&line.space.full(DATA)).await.unwrap().0;
    assert_eq!(data, b"second", "it was applied before the next holder began");
    line.end(guard).await;
}

#[apply(every_passed_lock)]
async fn write_of_unknown_outcome_makes_the_next_holder_take_another_node(face: Face) {
    let line = line(face).await;
    let (guard, [waiting]) = line.held_before().await;
    guard.create(DATA, "first").await.unwrap();
    let cut = line.proxy.on_request(Opcode::MULTI).cut(How::Rst);
    guard.set_data(DATA, "second").await.unwrap_err();
    soon(cut.struck()).await;
    let token = guard.fencing_token();
    until(|| async { guard.is_held() }, "the client is back").await;
    guard.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert!(guard.fencing_token().zxid() > token.zxid());
    line.end(guard).await;
}

#[apply(every_passed_lock)]
async fn nothing_is_passed_on_while_the_connection_is_broken(face: Face) {
    let line = line(face).await;
    let (guard, [waiting]) = line.held_before().await;
    let token = guard.fencing_token();
    line.proxy.refuse();
    line.proxy.cut(How::Rst);
    until(|| async { line.client.health() == Health::Suspended }, "the connection is broken").await;
    assert_eq!(guard.state(), LeaseState::Suspended);
    let releasing = tokio::spawn(guard.release());
    yield_often().await;
    assert!(!waiting.is_finished() && !releasing.is_finished());
    line.proxy.heal();
    let guard = soon(waiting).await.unwrap().unwrap();
    soon(releasing).await.unwrap().unwrap();
    assert_eq!((guard.fencing_token().zxid(), guard.fencing_token().handoff()), (token.zxid(), 1));
    line.end(guard).await;
}

#[apply(every_passed_lock)]
async fn loss_is_told_to_the_holder_once_and_the_line_is_served_afterwards(
    face: Face,
    #[values(LossReason::NodeDeleted, LossReason::SessionEnded)] cause: LossReason,
) {
    let line = line(face).await;
    let mut events = line.client.events();
    let (guard, waiters) = line.held_before::<3>().await;
    match cause {
        LossReason::SessionEnded => line.space.end_session_of(&line.client),
        _ => line.space.delete_first_child(&face.parent_of_nodes(PATH)).await,
    }
    let reason = soon(guard.lost()).await;
    // The nodes of a session end with it, and the client may learn of them first.
    assert!(reason == LossReason::NodeDeleted || reason == cause, "{reason}");
    let (token, mut others) = (guard.fencing_token(), JoinSet::new());
    for waiter in waiters {
        others.spawn(async move {
            let guard = soon(waiter).await.unwrap().unwrap();
            assert!(guard.is_held());
            let token = guard.fencing_token();
            guard.release().await.unwrap();
            token
        });
    }
    assert!(soon(others.join_all()).await.into_iter().all(|later| later > token));
    assert!(failed(guard.release().await).is_lost());
    line.until_nothing_is_left().await;
    soon(line.client.shutdown(Duration::ZERO)).await;
    drop((line.lock, line.client));
    let mut losses = 0;
    while let Some(event) = soon(events.next()).await {
        losses += u32::from(matches!(event.kind, LockEventKind::Lost { .. }));
    }
    assert_eq!(losses, 1);
}

#[apply(every_passed_lock)]
async fn holder_that_is_asked_to_release_passes_nothing_on(face: Face) {
    let line = line(face).await;
    let (guard, [waiting]) = line.held_before().await;
    let asked = line.lock.participants().await.remove(0);
    let (revoking, ()) = soon(async { tokio::join!(line.client.revoke(&asked), guard.revoked()) }).await;
    revoking.unwrap();
    let token = guard.fencing_token();
    guard.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert!(guard.fencing_token().zxid() > token.zxid(), "another node, at the tail of the queue");
    assert!(guard.revoked().now_or_never().is_none());
    line.end(guard).await;
}

#[apply(every_passed_lock)]
async fn calls_dropped_in_line_are_skipped_and_cost_no_request(face: Face) {
    let line = line(face).await;
    let (guard, []) = line.held_before().await;
    let waiters: Vec<_> = (0..99).map(|_| line.lock.spawn()).collect();
    line.lock.until_in_line(99).await;
    let last = line.lock.spawn();
    line.lock.until_in_line(100).await;
    let requests = line.requests();
    for waiter in waiters {
        waiter.abort();
        assert!(failed(waiter.await).is_cancelled());
    }
    guard.release().await.unwrap();
    let guard = soon(last).await.unwrap().unwrap();
    assert_eq!(guard.fencing_token().handoff(), 1);
    assert_eq!(line.requests(), requests);
    line.end(guard).await;
}

#[apply(every_passed_lock)]
async fn last_call_dropped_in_line_takes_the_node_with_it(face: Face) {
    let line = line(face).await;
    let guard = line.rival.lock().await.unwrap();
    face.until_contending(&line.space, PATH, 1).await;
    let waiters = [line.lock.spawn(), line.lock.spawn()];
    line.lock.until_in_line(2).await;
    for waiter in waiters {
        face.until_contending(&line.space, PATH, 2).await;
        waiter.abort();
    }
    face.until_contending(&line.space, PATH, 1).await;
    guard.release().await.unwrap();
}

#[apply(every_passed_lock)]
async fn shutdown_refuses_the_line_and_passes_nothing_on(
    face: Face,
    #[values(Duration::ZERO, LONG)] grace: Duration,
) {
    let line = line(face).await;
    let (guard, waiters) = line.held_before::<3>().await;
    let ending = line.client.clone();
    let shutdown = tokio::spawn(async move { ending.shutdown(grace).await });
    for waiter in waiters {
        assert!(failed(soon(waiter).await.unwrap()).is_closed());
    }
    if grace.is_zero() {
        soon(shutdown).await.unwrap();
        assert_eq!(guard.state(), LeaseState::Lost(LossReason::SessionEnded));
    } else {
        assert!(guard.is_held(), "the grace is not over");
        guard.release().await.unwrap();
        soon(shutdown).await.unwrap();
    }
    assert!(failed(soon(line.lock.lock()).await).is_closed());
    line.until_nothing_is_left().await;
}

#[apply(every_passed_lock)]
async fn lock_that_waits_to_be_passed_on_is_released_when_its_client_is_shut_down(face: Face) {
    let line = line(face).await;
    let (guard, [waiting]) = line.held_before().await;
    guard.create(DATA, "first").await.unwrap();
    let held = write_unanswered(&line.proxy, &guard, "second").await;
    drop(guard);
    let ending = line.client.clone();
    let shutdown = tokio::spawn(async move { ending.shutdown(LONG).await });
    assert!(failed(soon(waiting).await.unwrap()).is_closed());
    held.release();
    soon(shutdown).await.unwrap();
    line.until_nothing_is_left().await;
}
