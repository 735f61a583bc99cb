//! The end of a client.

mod bodies;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use zklock::{Config, LeaseState, LockError, LossReason};

use crate::support::{Server, Space, TICK, failed, soon, until, until_in_line, until_leads};

const PATH: &str = "/service";

#[tokio::test]
async fn waiters_are_told_of_a_shutdown_and_leave_the_queue() {
    let (space, [client, other]) = Space::with_clients().await;
    let _guard = other.mutex(PATH).unwrap().lock().await.unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..50 {
        let mutex = client.mutex(PATH).unwrap();
        waiting.spawn(async move { mutex.lock_timeout(Duration::MAX).await });
    }
    until_in_line(&client.mutex(PATH).unwrap(), 50).await;
    assert_eq!(space.children(PATH).await.len(), 2);
    soon(client.shutdown(Duration::ZERO)).await;
    for outcome in soon(waiting.join_all()).await {
        assert!(failed(outcome).is_closed());
    }
    assert_eq!(space.children(PATH).await.len(), 1);
}

#[tokio::test]
async fn calls_holders_and_candidates_are_told_of_a_shutdown_that_no_server_answers() {
    let server = Server::start();
    let config = Config::new(server.connect_string()).tick_time(TICK).default_wait(Duration::MAX);
    let client = config.connect().await.unwrap();
    let mutex = client.mutex(PATH).unwrap();
    let guard = mutex.lock().await.unwrap();
    let held = client.mutex("/held").unwrap().lock().await.unwrap();
    until_leads(&client, "/led").await;
    server.pause().unwrap();
    let candidates = [("/led", client.leader("/led").unwrap()), ("/run", client.leader("/run").unwrap())];
    assert!(candidates[1].1.term().await.unwrap().is_none(), "there is no answer yet");
    // A call for the same lock would get it from the one that releases it, without an answer.
    let (locking, listing) = (client.mutex("/other").unwrap(), mutex.clone());
    let locking = tokio::spawn(async move { locking.lock().await });
    let listing = tokio::spawn(async move { listing.participants().await });
    let releasing = tokio::spawn(guard.release());
    soon(client.shutdown(Duration::ZERO)).await;
    assert!(failed(soon(locking).await.unwrap()).is_closed());
    assert!(failed(soon(listing).await.unwrap()).is_closed());
    // The server may have deleted the node, but has not answered.
    assert!(failed(soon(releasing).await.unwrap()).is_lost());
    assert_eq!(held.state(), LeaseState::Lost(LossReason::SessionEnded));
    assert_eq!(soon(held.lost()).await, LossReason::SessionEnded);
    for (at, leader) in candidates.iter().chain(&candidates) {
        let error = failed(leader.term().await);
        assert!(matches!(&error, LockError::Closed { path, .. } if path == at), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_is_cancelled_before_its_lock_is_handed_on_by_a_shutdown() {
    struct Running(Arc<AtomicBool>);
    impl Drop for Running {
        fn drop(&mut self) {
            self.0.store(false, Ordering::SeqCst);
        }
    }
    let space = Space::new();
    for _ in 0..5 {
        let (client, other) = (space.client().await, space.client().await);
        let (running, mutex) = (Arc::new(AtomicBool::new(false)), client.mutex(PATH).unwrap());
        let in_body = running.clone();
        let body = tokio::spawn(async move {
            mutex
                .run(async move |_| {
                    in_body.store(true, Ordering::SeqCst);
                    let _running = Running(in_body);
                    loop {
                        // A step of work that nothing interrupts.
                        std::thread::sleep(Duration::from_millis(20));
                        tokio::task::yield_now().await;
                    }
                })
                .await
        });
        until(|| async { running.load(Ordering::SeqCst) }, "the body runs").await;
        let next = other.mutex(PATH).unwrap();
        let waiting = tokio::spawn(async move {
            let guard = next.lock().await.unwrap();
            let overlaps = running.load(Ordering::SeqCst);
            guard.release().await.unwrap();
            overlaps
        });
        space.until_queued(PATH, 2).await;
        soon(client.shutdown(Duration::ZERO)).await;
        assert!(!soon(waiting).await.unwrap(), "the next holder ran beside the body");
        let ended: Result<(), LockError> = soon(body).await.unwrap();
        assert!(failed(ended).is_lost());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_body_is_told_of_a_shutdown_however_many_there_are() {
    let client = Space::new().client().await;
    let running = Arc::new(AtomicUsize::new(0));
    let body = |index: usize| {
        let (mutex, running) = (client.mutex(format!("{PATH}/{index}")).unwrap(), running.clone());
        tokio::spawn(async move {
            let body = async |_: &zklock::MutexGuard| {
                running.fetch_add(1, Ordering::SeqCst);
                pending::<()>().await;
            };
            mutex.run(body).await
        })
    };
    let bodies: Vec<_> = (0..200).map(body).collect();
    until(|| async { running.load(Ordering::SeqCst) == 200 }, "all bodies run").await;
    soon(client.shutdown(Duration::ZERO)).await;
    for body in bodies {
        assert!(failed(soon(body).await.unwrap()).is_lost());
    }
}
