//! Permits that go from one call of a client to the next.

use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::JoinSet;
use zklock::{Client, Health, LeaseState, LockError, LockEventKind, LossReason, Phase, Queueing};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{How, Proxy};

use super::{GATE, LEASES, Room, semaphore, spawn_take, take, until_nothing_is_left};
use crate::support::{Space, failed, soon, until};

const DATA: &str = "/data";

/// Connects a client through its own proxy, whose turns no test outlasts.
pub(super) async fn patient(space: &Space) -> (Proxy, Client) {
    let proxy = Proxy::start(space.server().address()).unwrap();
    let queueing = Queueing::new(64, Duration::from_secs(60));
    let client = space.config_at(proxy.connect_string()).queueing(queueing).connect().await.unwrap();
    (proxy, client)
}

/// Waits until this many calls of the client wait in line.
pub(super) async fn until_in_line(client: &Client, of: u32, count: u32) {
    let semaphore = semaphore(client, of);
    let waiting = async || semaphore.participants().await.unwrap().iter().find_map(|own| own.waiting_here);
    until(async || waiting().await == Some(count), "the calls wait in line").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_tasks_share_three_permits_with_hardly_a_request() {
    const TASKS: u64 = 30;
    const ROUNDS: u64 = 40;
    let space = Space::new();
    let (proxy, client) = patient(&space).await;
    let (room, mut tasks) = (Room::default(), JoinSet::new());
    let before = proxy.requests_total();
    for _ in 0..TASKS {
        let (semaphore, room) = (semaphore(&client, 3), room.clone());
        tasks.spawn(async move {
            for _ in 0..ROUNDS {
                let guard = take(&semaphore, 1).await;
                room.enter(1, 3);
                tokio::task::yield_now().await;
                room.leave(1);
                guard.release().await.unwrap();
            }
        });
    }
    soon(tasks.join_all()).await;
    until_nothing_is_left(&space).await;
    let (requests, grants) = (proxy.requests_total() - before, TASKS * ROUNDS);
    assert!(requests <= grants / 4, "{requests} requests for {grants} permits");
}

#[tokio::test]
async fn calls_are_served_in_the_order_in_which_they_came_under_one_node() {
    let space = Space::new();
    let (_proxy, client) = patient(&space).await;
    let mut events = client.events();
    let guard = take(&semaphore(&client, 1), 1).await;
    let mut waiters = Vec::new();
    for count in 1..=5 {
        waiters.push(spawn_take(&semaphore(&client, 1), 1));
        until_in_line(&client, 1, count).await;
    }
    assert_eq!(space.children(LEASES).await.len(), 1, "the client has all permits");
    let mut tokens = vec![guard.fencing_token()];
    guard.release().await.unwrap();
    for (nth, waiter) in waiters.into_iter().enumerate() {
        let guard = soon(waiter).await.unwrap().unwrap();
        let token = guard.fencing_token();
        assert_eq!((token.zxid(), token.handoff() as usize), (tokens[0].zxid(), nth + 1));
        tokens.push(token);
        guard.release().await.unwrap();
    }
    until_nothing_is_left(&space).await;
    client.shutdown(Duration::ZERO).await;
    drop(client);
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

#[tokio::test]
async fn a_second_call_and_a_try_of_a_client_with_one_of_three_permits_get_one_each() {
    let space = Space::new();
    let (proxy, client) = patient(&space).await;
    let semaphore = semaphore(&client, 3);
    let first = take(&semaphore, 1).await;
    let second = take(&semaphore, 1).await;
    let third = semaphore.try_acquire().await.unwrap().expect("one is free");
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    space.until_queued(LEASES, 3).await;
    let waiting = spawn_take(&semaphore, 1);
    until_in_line(&client, 3, 1).await;
    // The client has all permits, and no contender.
    let creates = proxy.requests(Opcode::CREATE2);
    for _ in 0..100 {
        assert!(semaphore.try_acquire().await.unwrap().is_none());
    }
    assert_eq!(proxy.requests(Opcode::CREATE2), creates);
    second.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert_eq!(guard.fencing_token().handoff(), 1);
    for guard in [first, third, guard] {
        guard.release().await.unwrap();
    }
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_try_right_after_a_release_finds_no_contender_of_a_call_that_was_served() {
    let space = Space::new();
    let (_proxy, client) = patient(&space).await;
    let semaphore = semaphore(&client, 1);
    for _ in 0..20 {
        let guard = take(&semaphore, 1).await;
        let waiting = spawn_take(&semaphore, 1);
        until_in_line(&client, 1, 1).await;
        guard.release().await.unwrap();
        soon(waiting).await.unwrap().unwrap().release().await.unwrap();
        let guard = semaphore.try_acquire().await.unwrap().expect("nobody holds it or waits for it");
        guard.release().await.unwrap();
    }
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_write_under_way_delays_the_next_holder_until_it_is_answered() {
    let space = Space::new();
    let (proxy, client) = patient(&space).await;
    let first = take(&semaphore(&client, 1), 1).await;
    let mut waiters = Vec::new();
    for count in 1..=2 {
        waiters.push(spawn_take(&semaphore(&client, 1), 1));
        until_in_line(&client, 1, count).await;
    }
    let waiting = waiters.pop().unwrap();
    // Once the permit is passed on, only the write keeps it from that.
    first.release().await.unwrap();
    let guard = soon(waiters.pop().unwrap()).await.unwrap().unwrap();
    guard.create(DATA, "first").await.unwrap();
    let held = proxy.on_request(Opcode::MULTI).hold();
    {
        let write = guard.set_data(DATA, "second");
        tokio::pin!(write);
        tokio::select! {
            written = &mut write => panic!("the write is held back: {written:?}"),
            () = soon(held.struck()) => {}
        }
    }
    let token = guard.fencing_token();
    let releasing = tokio::spawn(guard.release());
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished() && !releasing.is_finished());
    held.release();
    let guard = soon(waiting).await.unwrap().unwrap();
    soon(releasing).await.unwrap().unwrap();
    assert_eq!((guard.fencing_token().zxid(), guard.fencing_token().handoff()), (token.zxid(), 2));
    let data = space.outsider().await.get_data(&space.full(DATA)).await.unwrap().0;
    assert_eq!(data, b"second", "it was applied before the next holder began");
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_write_of_unknown_outcome_makes_the_next_holder_take_another_node() {
    let space = Space::new();
    let (proxy, client) = patient(&space).await;
    let guard = take(&semaphore(&client, 1), 1).await;
    guard.create(DATA, "first").await.unwrap();
    let waiting = spawn_take(&semaphore(&client, 1), 1);
    until_in_line(&client, 1, 1).await;
    let cut = proxy.on_request(Opcode::MULTI).cut(How::Rst);
    guard.set_data(DATA, "second").await.unwrap_err();
    soon(cut.struck()).await;
    let token = guard.fencing_token();
    until(|| async { guard.is_held() }, "the client is back").await;
    guard.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert!(guard.fencing_token().zxid() > token.zxid());
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn nothing_is_passed_on_while_the_connection_is_broken() {
    let space = Space::new();
    let (proxy, client) = patient(&space).await;
    let guard = take(&semaphore(&client, 1), 1).await;
    let waiting = spawn_take(&semaphore(&client, 1), 1);
    until_in_line(&client, 1, 1).await;
    let token = guard.fencing_token();
    proxy.refuse();
    proxy.cut(How::Rst);
    until(|| async { client.health() == Health::Suspended }, "the connection is broken").await;
    assert_eq!(guard.state(), LeaseState::Suspended);
    let releasing = tokio::spawn(guard.release());
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished() && !releasing.is_finished());
    proxy.heal();
    let guard = soon(waiting).await.unwrap().unwrap();
    soon(releasing).await.unwrap().unwrap();
    assert_eq!((guard.fencing_token().zxid(), guard.fencing_token().handoff()), (token.zxid(), 1));
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_loss_is_told_to_the_holder_and_those_in_line_are_served_afterwards() {
    let space = Space::new();
    for is_session in [false, true] {
        let (_proxy, client) = patient(&space).await;
        let guard = take(&semaphore(&client, 1), 1).await;
        space.until_empty(GATE).await;
        let waiters = [(); 3].map(|()| spawn_take(&semaphore(&client, 1), 1));
        until_in_line(&client, 1, 3).await;
        if is_session {
            space.end_session_of(&client);
        } else {
            space.delete_first_child(LEASES).await;
        }
        let reason = soon(guard.lost()).await;
        // The nodes of a session end with it, and the client may learn of them first.
        let is_of_the_session = is_session && reason == LossReason::SessionEnded;
        assert!(reason == LossReason::NodeDeleted || is_of_the_session, "{reason}");
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
        until_nothing_is_left(&space).await;
    }
}

#[tokio::test]
async fn a_holder_that_is_asked_to_release_does_not_pass_its_permit_on() {
    let space = Space::new();
    let (_proxy, client) = patient(&space).await;
    let semaphore = semaphore(&client, 1);
    let guard = take(&semaphore, 1).await;
    let waiting = spawn_take(&semaphore, 1);
    until_in_line(&client, 1, 1).await;
    let asked = semaphore.participants().await.unwrap().remove(0);
    let (revoking, ()) = soon(async { tokio::join!(client.revoke(&asked), guard.revoked()) }).await;
    revoking.unwrap();
    let token = guard.fencing_token();
    guard.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert!(guard.fencing_token().zxid() > token.zxid(), "another node");
    assert!(guard.revoked().now_or_never().is_none());
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn calls_that_are_dropped_in_line_are_skipped_and_the_last_one_takes_the_contender_with_it() {
    let space = Space::new();
    let (proxy, client) = patient(&space).await;
    // Another client has the other permit, so that this one contends for it.
    let other = take(&semaphore(&space.client().await, 2), 1).await;
    let guard = take(&semaphore(&client, 2), 1).await;
    let mut waiters = Vec::new();
    for _ in 1..=100 {
        waiters.push(spawn_take(&semaphore(&client, 2), 1));
    }
    until_in_line(&client, 2, 100).await;
    space.until_queued(LEASES, 3).await;
    let before = [Opcode::CREATE2, Opcode::DELETE].map(|opcode| proxy.requests(opcode));
    let last = waiters.pop().unwrap();
    for waiter in waiters {
        waiter.abort();
        assert!(failed(waiter.await).is_cancelled());
    }
    until_in_line(&client, 2, 1).await;
    let after = [Opcode::CREATE2, Opcode::DELETE].map(|opcode| proxy.requests(opcode));
    assert_eq!(after, before);
    last.abort();
    space.until_queued(LEASES, 2).await;
    space.until_empty(GATE).await;
    assert!(guard.is_held());
    guard.release().await.unwrap();
    other.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_call_whose_time_is_over_in_line_says_so_and_the_others_stay() {
    let space = Space::new();
    let (_proxy, client) = patient(&space).await;
    let semaphore = semaphore(&client, 1);
    let guard = take(&semaphore, 1).await;
    let waiting = spawn_take(&semaphore, 1);
    until_in_line(&client, 1, 1).await;
    let error = failed(semaphore.acquire_timeout(Duration::from_millis(50)).await);
    assert!(matches!(error, LockError::Timeout { phase: Phase::Queued, .. }), "{error}");
    until_in_line(&client, 1, 1).await;
    let token = guard.fencing_token();
    guard.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert_eq!((guard.fencing_token().zxid(), guard.fencing_token().handoff()), (token.zxid(), 1));
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_shutdown_refuses_those_in_line_and_passes_nothing_on() {
    let space = Space::new();
    let (_proxy, client) = patient(&space).await;
    let guard = take(&semaphore(&client, 1), 1).await;
    let waiters = [(); 3].map(|()| spawn_take(&semaphore(&client, 1), 1));
    until_in_line(&client, 1, 3).await;
    let ending = client.clone();
    let shutdown = tokio::spawn(async move { ending.shutdown(Duration::from_secs(60)).await });
    for waiter in waiters {
        let error = failed(soon(waiter).await.unwrap());
        assert!(error.is_closed(), "{error}");
    }
    assert!(guard.is_held(), "the grace is not over");
    guard.release().await.unwrap();
    soon(shutdown).await.unwrap();
    assert!(failed(semaphore(&client, 1).acquire().await).is_closed());
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_permit_that_waits_to_be_passed_on_is_released_when_its_client_is_shut_down() {
    let space = Space::new();
    let (proxy, client) = patient(&space).await;
    let guard = take(&semaphore(&client, 1), 1).await;
    guard.create(DATA, "first").await.unwrap();
    let waiting = spawn_take(&semaphore(&client, 1), 1);
    until_in_line(&client, 1, 1).await;
    let held = proxy.on_request(Opcode::MULTI).hold();
    {
        let write = guard.set_data(DATA, "second");
        tokio::pin!(write);
        tokio::select! {
            written = &mut write => panic!("the write is held back: {written:?}"),
            () = soon(held.struck()) => {}
        }
    }
    drop(guard);
    let ending = client.clone();
    let shutdown = tokio::spawn(async move { ending.shutdown(Duration::from_secs(60)).await });
    assert!(failed(soon(waiting).await.unwrap()).is_closed());
    held.release();
    soon(shutdown).await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn an_error_of_a_contender_is_that_of_all_calls_in_line() {
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
    let guard = take(&semaphore(&other, 3), 1).await;
    let (release, first) = {
        // The gate is taken, so that all calls are in line when the first contender is refused.
        let inside = take(&semaphore(&other, 3), 2).await;
        let first = spawn_take(&semaphore(&other, 3), 1);
        space.until_queued(LEASES, 4).await;
        (inside, first)
    };
    let waiters = [(); 5].map(|()| spawn_take(&semaphore(&client, 2), 1));
    space.until_queued(GATE, 2).await;
    release.release().await.unwrap();
    for waiter in waiters {
        let error = failed(soon(waiter).await.unwrap());
        assert!(matches!(error, LockError::PermitsDiffer { ours: 2, theirs: 3, .. }), "{error}");
    }
    soon(first).await.unwrap().unwrap().release().await.unwrap();
    guard.release().await.unwrap();
    take(&semaphore(&client, 2), 1).await.release().await.unwrap();
    until_nothing_is_left(&space).await;
}
