//! The bounds of one session.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::poll;
use tokio::task::JoinSet;
use zklock::{LockError, MutexGuard, Refusal};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Direction, How};

use crate::support::{Space, failed, soon, until};

/// The requests of contenders that may be under way.
const REQUESTS: u64 = 128;
/// A heartbeat, a ping, and a request that the proxy has counted before the answer to an earlier one.
const OTHERS: u64 = 4;

#[tokio::test]
async fn the_requests_of_many_calls_that_begin_together_are_bounded() {
    let (space, proxy, client) = Space::with_proxy().await;
    let path = |number: usize| format!("/met/{number}");
    let other = space.client().await;
    for number in 0..200 {
        other.mutex(path(number)).unwrap().lock().await.unwrap().release().await.unwrap();
    }
    // Where others were before, a contender sends a create and a list together.
    proxy.delay(Direction::ToServer, Duration::from_millis(100));
    let mut calls: JoinSet<_> = (0..200)
        .map(|number| {
            let mutex = client.mutex(path(number)).unwrap();
            async move { mutex.lock().await.unwrap().release().await.unwrap() }
        })
        .collect();
    let (mut most, all) = (0, async { while calls.join_next().await.is_some() {} });
    let mut all = Box::pin(soon(all));
    while tokio::time::timeout(Duration::from_millis(2), &mut all).await.is_err() {
        let counts = proxy.counts();
        most = most.max(counts.requests_total().saturating_sub(counts.replies_total()));
    }
    assert!((REQUESTS - OTHERS..=REQUESTS + OTHERS).contains(&most), "{most} requests were under way");
}

#[tokio::test]
async fn locks_whose_nodes_are_looked_at_after_a_reconnect_can_all_be_released_at_once() {
    let (proxy, client) = Space::new().proxied().await;
    let mutexes: Vec<_> = (0..400).map(|number| client.mutex(format!("/held/{number}")).unwrap()).collect();
    let guards = join_all(mutexes.iter().map(|mutex| async { mutex.lock().await.unwrap() })).await;
    let looked = || async { proxy.replies(Opcode::GET_CHILDREN) >= guards.len() as u64 };
    until(looked, "the holders have looked whether others wait").await;
    // Each holder reads its node, and lists its queue.
    let lists = proxy.on_request(Opcode::GET_CHILDREN).always().hold();
    proxy.cut(How::Rst);
    until(async || lists.hits() > 0, "a holder lists its queue on the next connection").await;
    let mut released = join_all(guards.into_iter().map(MutexGuard::release));
    assert!(poll!(&mut released).is_pending());
    lists.release();
    for outcome in soon(released).await {
        outcome.unwrap();
    }
}

#[tokio::test]
async fn a_call_that_ends_behind_the_bound_returns_when_its_delete_was_sent() {
    let (proxy, client) = Space::new().proxied().await;
    let mutex = client.mutex("/ends").unwrap();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let ending = mutex.clone();
    let running = tokio::spawn(async move { ending.run(async |_| ended.await.unwrap()).await });
    until(|| async { proxy.replies(Opcode::GET_CHILDREN) == 1 }, "the lock is held and watched").await;
    let (before, answers) = (proxy.requests(Opcode::MULTI), proxy.on_reply(Opcode::MULTI).hold());
    let others: JoinSet<_> = (0..2 * REQUESTS)
        .map(|number| {
            let mutex = client.mutex(format!("/other/{number}")).unwrap();
            async move { mutex.lock().await.unwrap().release().await.unwrap() }
        })
        .collect();
    let are_under_way = || async { proxy.requests(Opcode::MULTI) - before >= REQUESTS };
    until(are_under_way, "as many requests as may be are under way").await;
    end.send(()).unwrap();
    // This read is not bounded. It is sent after the body of the call has ended.
    let mut reading = pin!(mutex.participants());
    assert!(poll!(&mut reading).is_pending());
    until(|| async { proxy.requests(Opcode::GET_CHILDREN) > 1 }, "a later request is on its way").await;
    assert!(!running.is_finished() && proxy.requests(Opcode::DELETE) == 0);
    answers.release();
    soon(reading).await.unwrap();
    soon(running).await.unwrap().unwrap();
    until(|| async { proxy.requests(Opcode::DELETE) > 0 }, "the delete is on its way").await;
    soon(others.join_all()).await;
}

/// The number of nodes with such long paths that one session may have.
const LONG: usize = 15;

fn long(number: usize) -> String {
    format!("/{number:060000}")
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, LockError>, at: &str) {
    let error = failed(outcome);
    assert!(!error.is_timeout() && !error.is_invalid());
    match error {
        LockError::Refused { path, refusal: Refusal::SessionFull, .. } if path == at => {}
        error => panic!("not refused: {}", error.to_string().chars().rev().take(99).collect::<String>()),
    }
}

#[tokio::test]
async fn the_paths_of_the_nodes_of_one_session_are_bounded_until_others_are_gone() {
    let (space, proxy, client) = Space::with_proxy().await;
    let lock = async |number| client.mutex(long(number)).unwrap().lock().await;
    let mut guards: Vec<MutexGuard> = Vec::new();
    for taken in join_all((0..LONG).map(lock)).await {
        guards.push(taken.unwrap());
    }
    let have_looked = || async { proxy.replies(Opcode::GET_CHILDREN) >= LONG as u64 };
    until(have_looked, "the holders have looked whether others wait").await;
    let requests = proxy.requests_total();
    let next = long(LONG);
    refused(lock(LONG).await, &next);
    refused(client.mutex(&next).unwrap().try_lock().await, &next);
    refused(client.rwlock(&next).unwrap().write().await, &next);
    refused(client.lock_all(["/a".to_owned(), next.clone()]).await, &next);
    let gate = format!("{next}/locks");
    refused(client.semaphore(&next, 2).unwrap().acquire().await, &gate);
    // Heartbeats, and the two of the member that had to be given back.
    assert!(proxy.requests_total() - requests < 10);
    let left = space.outsider().await.check_stat(&space.full(&next)).await.unwrap();
    assert!(left.is_none(), "a refused call leaves nothing");
    assert!(guards.iter().all(|guard| guard.is_held()));
    // Others are not affected: another client, and shorter paths.
    space.client().await.mutex(&next).unwrap().lock().await.unwrap().release().await.unwrap();
    client.mutex("/short").unwrap().lock().await.unwrap().release().await.unwrap();
    guards.pop().unwrap().release().await.unwrap();
    guards.push(lock(LONG).await.expect("the released node made room"));
    // A candidate tries again and again.
    let next = long(LONG + 1);
    refused(client.leader(&next).unwrap().leadership().await, &next);
}

#[tokio::test]
async fn nodes_that_are_gone_do_not_count() {
    let (space, client) = Space::with_client().await;
    let (mutex, semaphore) = (client.mutex(long(1)).unwrap(), client.semaphore(long(2), 3).unwrap());
    let rwlock = client.rwlock(long(3)).unwrap();
    for _ in 0..LONG {
        mutex.lock().await.unwrap().release().await.unwrap();
        semaphore.acquire_many(3).await.unwrap().release().await.unwrap();
        rwlock.write().await.unwrap().downgrade().await.unwrap().release().await.unwrap();
        drop(mutex.lock().await.unwrap());
    }
    // Calls that give up behind another client.
    let holder = space.client().await.mutex(long(1)).unwrap().lock().await.unwrap();
    for _ in 0..LONG {
        assert!(mutex.try_lock().await.unwrap().is_none());
        failed(mutex.lock_timeout(Duration::from_millis(20)).await);
    }
    holder.release().await.unwrap();
    // A node that an outsider deletes.
    for _ in 0..LONG {
        let guard = mutex.lock().await.unwrap();
        space.delete_children(&long(1)).await;
        soon(guard.lost()).await;
    }
    // The last releases may not have ended yet.
    let all = async || client.lock_all((1..=LONG).map(long)).await;
    until(async || all().await.is_ok(), "no node is left").await;
}
