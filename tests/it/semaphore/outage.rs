//! Servers that are killed and restarted, and containers that are deleted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;

use super::{Room, semaphore, take};
use crate::support::{Server, soon, until};

/// A session timeout that outlasts the restart of a real server on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_who_come_before_and_during_an_outage_get_their_permits_after_it() {
    let server = Server::start_granting(PATIENCE);
    let (room, rounds, mut tasks) = (Room::default(), Arc::new(AtomicUsize::new(0)), JoinSet::new());
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut clients = Vec::new();
    for number in 0..6 {
        let client = server.client(PATIENCE).await;
        let (semaphore, room, rounds) = (semaphore(&client, 2), room.clone(), rounds.clone());
        let stopped = stopped.clone();
        clients.push(client);
        tasks.spawn(async move {
            let mut own = 0;
            while own < 3 || !*stopped.borrow() {
                let permits = 1 + number % 2;
                let guard = semaphore.acquire_many_timeout(permits, Duration::MAX).await.unwrap();
                // A suspended guard may be held or not, so nothing is counted under it.
                if guard.is_held() {
                    room.enter(permits, 2);
                    own += 1;
                    rounds.fetch_add(1, Ordering::SeqCst);
                    room.leave(permits);
                }
                guard.release().await.ok();
            }
        });
    }
    until(|| async { rounds.load(Ordering::SeqCst) > 10 }, "work is done").await;
    server.kill().unwrap();
    server.restart().unwrap();
    let before = rounds.load(Ordering::SeqCst);
    until(|| async { rounds.load(Ordering::SeqCst) > before + 20 }, "work goes on").await;
    stop.send_replace(true);
    soon(tasks.join_all()).await;
    let left = semaphore(&clients[0], 2);
    until(|| async { left.participants().await.unwrap().is_empty() }, "nothing is left").await;
}

#[tokio::test]
async fn a_semaphore_that_nobody_uses_goes_with_all_its_nodes_and_starts_anew() {
    let server = Server::start_reaping();
    let client = server.client(PATIENCE).await;
    let outsider = server.outsider().await;
    for permits in [2, 5] {
        let semaphore = semaphore(&client, permits);
        let guards = [take(&semaphore, 1).await, take(&semaphore, 1).await];
        for guard in guards {
            guard.release().await.unwrap();
        }
        // The number is gone too, so that the next one may differ.
        let is_gone = || async { outsider.check_stat(super::PATH).await.unwrap().is_none() };
        until(is_gone, "the containers are removed").await;
    }
}

#[tokio::test]
async fn containers_that_vanish_at_any_moment_are_created_again() {
    let server = Server::start_reaping();
    let (client, other) = (server.client(PATIENCE).await, server.client(PATIENCE).await);
    let (one, two) = (semaphore(&client, 2), semaphore(&other, 2));
    let outsider = server.outsider().await;
    let remover = tokio::spawn(async move {
        loop {
            for path in [super::LEASES, super::GATE, super::PATH] {
                let _ = outsider.delete(path, None).await;
            }
            // The deletes of a closed connection fail without an await.
            tokio::task::yield_now().await;
        }
    });
    for _ in 0..30 {
        let (first, second) = tokio::join!(take(&one, 1), take(&two, 1));
        first.release().await.unwrap();
        second.release().await.unwrap();
    }
    remover.abort();
    assert!(soon(remover).await.unwrap_err().is_cancelled());
}
