//! What locks cost, counted by a server of the test's own.

use std::cell::Cell;
use std::time::Duration;

use rstest_reuse::apply;
use zklock::{Config, Mutex};

use crate::support::{Kind, Server, on_both_servers, until};

/// A session that sends nothing by itself within the time of a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A lock of such a session.
async fn quiet(server: &Server) -> Mutex {
    let client = Config::new(server.connect_string()).session_timeout(PATIENCE).connect().await.unwrap();
    let mutex = client.mutex("/cost").unwrap();
    mutex.lock().await.unwrap().release().await.unwrap();
    mutex
}

/// Counts the requests of what the future does.
pub(crate) async fn requests(server: &Server, future: impl Future<Output = ()>) -> u64 {
    let before = server.packets_received();
    future.await;
    // The second question counts itself.
    server.packets_received() - before - 1
}

#[apply(on_both_servers)]
#[tokio::test]
async fn a_free_lock_costs_three_requests_and_entering_again_none(kind: Kind) {
    let server = Server::start_granting(kind, PATIENCE);
    let mutex = quiet(&server).await;
    let free = async {
        for _ in 0..10 {
            mutex.lock().await.unwrap().release().await.unwrap();
        }
    };
    assert_eq!(requests(&server, free).await, 30);
    let guard = mutex.lock().await.unwrap();
    let again = guard.scope(async {
        for _ in 0..10 {
            mutex.lock().await.unwrap().release().await.unwrap();
        }
    });
    assert_eq!(requests(&server, again).await, 0);
    guard.release().await.unwrap();
}

#[apply(on_both_servers)]
#[tokio::test]
async fn a_taken_lock_costs_five_requests_and_a_try_three(kind: Kind) {
    let server = Server::start_granting(kind, PATIENCE);
    let (holder, waiter) = (quiet(&server).await, quiet(&server).await);
    let guard = holder.lock().await.unwrap();
    // The first that comes makes the holder watch its own node, once.
    assert!(waiter.try_lock().await.unwrap().is_none());
    let own = holder.participants().await.unwrap().remove(0).node;
    until(|| async { server.four_letter("wchp").unwrap().contains(&own) }, "the holder watches").await;
    let tried = async { assert!(waiter.try_lock().await.unwrap().is_none()) };
    assert_eq!(requests(&server, tried).await, 3);

    let questions = Cell::new(0);
    let is_queued = || async {
        questions.set(questions.get() + 1);
        // The holder its node, and the waiter the holder and the queue.
        server.four_letter("mntr").unwrap().contains("zk_watch_count\t3\n")
    };
    let passes = async {
        // A handle stays, or the end of the session would be counted too.
        let waiter = waiter.clone();
        let waiting = tokio::spawn(async move { waiter.lock().await.unwrap().release().await });
        until(is_queued, "the waiter watches the holder").await;
        guard.release().await.unwrap();
        waiting.await.unwrap().unwrap();
    };
    let all = requests(&server, passes).await;
    assert_eq!(all - questions.get(), 5 + 1, "by the waiter, and the release by the holder");
}
