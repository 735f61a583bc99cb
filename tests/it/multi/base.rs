//! What Curator shows of each of its locks, shown of the multi-lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rstest_reuse::apply;
use tokio::task::JoinSet;
use zklock::{Client, Config};

use super::{A, B, C, SHORT, lock, queues, spawn_lock, until_nothing_is_left};
use crate::support::{Kind, Server, Space, TICK, failed, on_both_servers, soon, until};

/// A session that outlasts the restart of a real server on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

async fn connect(server: &Server, namespace: &str) -> Client {
    let config = Config::new(server.connect_string()).session_timeout(PATIENCE).tick_time(TICK);
    config.namespace(namespace).connect().await.expect("the server accepts a client")
}

#[apply(on_both_servers)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_share_one_handle_exclude_each_other(kind: Kind) {
    let space = Space::new(kind);
    let multi = Arc::new(space.client().await.multi([A, B]).unwrap());
    let (inside, mut tasks) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
    for _ in 0..10 {
        let (multi, inside) = (multi.clone(), inside.clone());
        tasks.spawn(async move {
            for _ in 0..3 {
                let guard = multi.lock_timeout(Duration::MAX).await.unwrap();
                assert!(!inside.swap(true, Ordering::SeqCst), "two holders at a time");
                tokio::task::yield_now().await;
                inside.store(false, Ordering::SeqCst);
                guard.release().await.unwrap();
            }
        });
    }
    soon(tasks.join_all()).await;
    assert_eq!(queues(&space).await, [0, 0, 0]);
}

#[apply(on_both_servers)]
#[tokio::test]
async fn it_is_held_until_the_outermost_release_and_strangers_wait(kind: Kind) {
    let space = Space::new(kind);
    let client = space.client().await;
    let multi = client.multi([A, B]).unwrap();
    let outer = multi.lock().await.unwrap();
    let middle = outer.scope(multi.lock()).await.unwrap();
    let inner = middle.scope(multi.lock()).await.unwrap();
    assert_eq!(queues(&space).await, [1, 1, 0]);
    for guard in [inner, middle] {
        guard.release().await.unwrap();
        let error = failed(multi.lock_timeout(SHORT).await);
        assert!(error.is_contended(), "{error}");
        assert!(outer.is_held());
    }
    outer.release().await.unwrap();
    assert_eq!(queues(&space).await, [0, 0, 0]);
}

#[apply(on_both_servers)]
#[tokio::test]
async fn two_clients_hand_it_over(kind: Kind) {
    let space = Space::new(kind);
    let (client, other) = (space.client().await, space.client().await);
    let mut guard = lock(&client, &[A, B]).await;
    for round in 0..6 {
        let waiting = spawn_lock(if round % 2 == 0 { &other } else { &client }, &[B, A]);
        space.until_queued(A, 2).await;
        assert!(!waiting.is_finished());
        let before = guard.fencing_token(A);
        guard.release().await.unwrap();
        guard = soon(waiting).await.unwrap().unwrap();
        assert!(guard.fencing_token(A) > before);
    }
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[apply(on_both_servers)]
#[tokio::test]
async fn holder_and_waiter_survive_the_restart_of_their_server(kind: Kind) {
    let server = Server::start_granting(kind, PATIENCE);
    let (client, other) = (connect(&server, "/app").await, connect(&server, "/app").await);
    let guard = lock(&client, &[A, B, C]).await;
    let waiting = spawn_lock(&other, &[A, B, C]);
    let first = client.mutex(A).unwrap();
    until(|| async { first.participants().await.unwrap().len() == 2 }, "the waiter is in the queue").await;
    server.kill().unwrap();
    server.restart().unwrap();
    guard.verify().await.unwrap();
    assert!(!waiting.is_finished());
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[apply(on_both_servers)]
#[tokio::test]
async fn the_parents_go_after_the_last_of_many_contenders(kind: Kind) {
    let server = Server::start_reaping(kind);
    let clients = [connect(&server, "/app").await, connect(&server, "/app").await];
    let locks = (0..10).map(|number| {
        let client = &clients[number % 2];
        async move { lock(client, &[A, B, C]).await.release().await.unwrap() }
    });
    soon(futures_util::future::join_all(locks)).await;
    let outsider = zookeeper_client::Client::connect(server.connect_string()).await.unwrap();
    let is_gone = || async { outsider.check_stat("/app").await.unwrap().is_none() };
    until(is_gone, "the containers are removed").await;
}
