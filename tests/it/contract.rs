//! The contract of every lock that excludes all others: Curator's `TestInterProcessMutexBase`.

mod face;
mod interruptions;
mod losses;
mod passing;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rstest_reuse::apply;
use tokio::task::JoinSet;
use zklock::{Client, Config, Standing};

use crate::support::{Server, Space, TICK, failed, soon, until};
use face::{Face, every_lock, every_reentrant_lock};

const PATH: &str = "/orders/7";
const SHORT: Duration = Duration::from_millis(150);

#[apply(every_lock)]
#[tokio::test]
async fn a_lock_is_released_at_the_end_of_the_scope_of_its_guard(face: Face) {
    let space = Space::new();
    let lock = face.of(&space.client().await, PATH);
    {
        let guard = lock.lock().await.unwrap();
        assert!(guard.is_held());
        face.until_contending(&space, PATH, 1).await;
    }
    face.until_contending(&space, PATH, 0).await;
    soon(lock.lock()).await.unwrap().release().await.unwrap();
}

#[apply(every_lock)]
#[tokio::test]
async fn of_two_clients_one_holds_and_the_other_follows(face: Face) {
    let space = Space::new();
    let locks = [face.of(&space.client().await, PATH), face.of(&space.client().await, PATH)];
    for (holder, waiter) in [(0, 1), (1, 0)] {
        let guard = locks[holder].lock().await.unwrap();
        assert!(locks[waiter].try_lock().await.unwrap().is_none());
        assert!(failed(locks[waiter].lock_timeout(SHORT).await).is_timeout());
        let waiting = locks[waiter].spawn();
        face.until_contending(&space, PATH, 2).await;
        assert!(guard.is_held() && !waiting.is_finished());
        guard.release().await.unwrap();
        soon(waiting).await.unwrap().unwrap().release().await.unwrap();
    }
    face.until_contending(&space, PATH, 0).await;
}

#[apply(every_lock)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_share_a_handle_exclude_each_other(face: Face) {
    let space = Space::new();
    let lock = face.of(&space.client().await, PATH);
    let (is_inside, mut tasks) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
    for _ in 0..10 {
        let (lock, is_inside) = (lock.clone(), is_inside.clone());
        tasks.spawn(async move {
            for _ in 0..5 {
                let guard = lock.lock().await.unwrap();
                assert!(!is_inside.swap(true, Ordering::SeqCst), "two tasks are inside at the same time");
                tokio::task::yield_now().await;
                is_inside.store(false, Ordering::SeqCst);
                guard.release().await.unwrap();
            }
        });
    }
    soon(tasks.join_all()).await;
    face.until_contending(&space, PATH, 0).await;
}

#[apply(every_lock)]
#[tokio::test]
async fn a_lock_works_below_a_namespace_and_names_its_own_path(face: Face) {
    let space = Space::new();
    let deeper = space.config().namespace(space.full("/tenants/one")).connect().await.unwrap();
    let elsewhere = space.client().await;
    let guard = face.of(&deeper, PATH).lock().await.unwrap();
    assert_eq!(guard.path(), PATH);
    face.until_contending(&space, &format!("/tenants/one{PATH}"), 1).await;
    let other = face.of(&elsewhere, PATH).lock().await.expect("the same path elsewhere is another lock");
    guard.release().await.unwrap();
    other.release().await.unwrap();
}

/// A session timeout that outlasts the restart of a real server on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

async fn connect(server: &Server, session: Duration) -> Client {
    let config = Config::new(server.connect_string()).session_timeout(session).tick_time(TICK);
    config.default_wait(Duration::MAX).connect().await.expect("the server accepts a client")
}

#[apply(every_lock)]
#[tokio::test]
async fn holder_and_waiter_both_finish_although_the_holder_restarts_the_server(face: Face) {
    let server = Server::start_granting(PATIENCE);
    let locks =
        [face.of(&connect(&server, PATIENCE).await, PATH), face.of(&connect(&server, PATIENCE).await, PATH)];
    let guard = locks[0].lock().await.unwrap();
    let waiting = locks[1].spawn();
    let waits = async || locks[0].participants().await.iter().any(|it| it.standing == Standing::Waits);
    until(waits, "the other waits").await;
    server.kill().unwrap();
    until(|| async { !guard.is_held() }, "the holder noticed").await;
    server.restart().unwrap();
    until(|| async { guard.is_held() }, "the lock is held again").await;
    assert!(!waiting.is_finished());
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[apply(every_lock)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_parents_of_a_lock_that_ten_wanted_vanish(face: Face) {
    let server = Server::start_reaping();
    let client = connect(&server, 20 * TICK).await;
    let mut contenders = JoinSet::new();
    for _ in 0..10 {
        let lock = face.of(&client, PATH);
        contenders.spawn(async move { lock.lock().await.unwrap().release().await.unwrap() });
    }
    soon(contenders.join_all()).await;
    let outsider = server.outsider().await;
    let is_gone = || async { outsider.check_stat("/orders").await.unwrap().is_none() };
    until(is_gone, "the parents are gone").await;
}

#[apply(every_reentrant_lock)]
#[tokio::test]
async fn a_lock_entered_three_times_is_held_until_it_is_left_three_times(face: Face) {
    let space = Space::new();
    let lock = face.of(&space.client().await, PATH);
    let (first, stranger) = (lock.lock().await.unwrap(), lock.clone());
    let is_free = async || stranger.try_lock().await.unwrap().is_some();
    let second = first.scope(lock.lock()).await.unwrap();
    let third = second.scope(lock.lock()).await.unwrap();
    face.until_contending(&space, PATH, 1).await;
    assert!(!is_free().await);
    third.release().await.unwrap();
    assert!(!is_free().await);
    second.release().await.unwrap();
    assert!(first.is_held() && !is_free().await);
    first.release().await.unwrap();
    assert!(is_free().await);
}

#[apply(every_reentrant_lock)]
#[tokio::test]
async fn another_task_does_not_enter_with_the_handle_of_a_holder_that_entered_twice(face: Face) {
    let space = Space::new();
    let lock = face.of(&space.client().await, PATH);
    let outer = lock.lock().await.unwrap();
    let inner = outer.scope(lock.lock()).await.unwrap();
    let stranger = async || {
        let lock = lock.clone();
        tokio::spawn(async move { lock.lock_timeout(SHORT).await }).await.unwrap()
    };
    assert!(failed(inner.scope(stranger()).await).is_timeout());
    inner.release().await.unwrap();
    assert!(failed(outer.scope(stranger()).await).is_timeout());
    outer.release().await.unwrap();
    soon(lock.spawn()).await.unwrap().unwrap().release().await.unwrap();
}
