//! A holder that loses its lock is notified, and its body is stopped.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use zklock::{Client, LeaseState, LockError, LossReason};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;

use crate::support::{Space, failed, soon, until};

const PATH: &str = "/payments/7";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guarded_writes_that_are_under_way_when_the_lock_is_lost_are_refused_by_the_server() {
    let (space, client) = Space::with_client().await;
    let guard = Arc::new(client.mutex(PATH).unwrap().lock().await.unwrap());
    guard.create("/ledger", "mine").await.unwrap();
    let (outsider, node) = (space.outsider().await, space.children(PATH).await.remove(0));
    let write = |turn: u32| {
        let guard = guard.clone();
        // Writes repeatedly until a write fails, so that some writes are under way at any moment.
        tokio::spawn(async move {
            loop {
                if let Err(error) = guard.set_data("/ledger", turn.to_string()).await {
                    break error;
                }
            }
        })
    };
    let writes: Vec<_> = (0..50).map(write).collect();
    let ledger = space.full("/ledger");
    until(|| async { outsider.get_data(&ledger).await.unwrap().0 != b"mine" }, "writes are applied").await;
    outsider.delete(&space.full(&format!("{PATH}/{node}")), None).await.unwrap();
    for write in writes {
        let error = soon(write).await.unwrap();
        assert!(error.is_lost(), "{error}");
    }
    let ledger = outsider.check_stat(&ledger).await.unwrap().unwrap();
    let queue = outsider.check_stat(&space.full(PATH)).await.unwrap().unwrap();
    assert!(ledger.mzxid < queue.pzxid, "a write was applied after the lock's node was deleted");
    assert!(matches!(guard.state(), LeaseState::Lost(LossReason::NodeDeleted)));
}

#[tokio::test]
async fn body_that_runs_to_its_end_goes_on_when_the_lock_is_lost_and_is_told_afterwards() {
    let (space, client) = Space::with_client().await;
    let mutex = client.mutex(PATH).unwrap();
    let guard = mutex.lock().await.unwrap();
    let again = guard.run_to_end(mutex.lock()).await.unwrap();
    assert_eq!(again.unwrap().fencing_token(), guard.fencing_token());
    let mut has_ended = false;
    let body = async {
        space.delete_children(PATH).await;
        guard.lost().await;
        tokio::task::yield_now().await;
        assert!(failed(mutex.lock().await).is_lost(), "a lost lock is not entered again");
        has_ended = true;
    };
    assert!(failed(soon(guard.run_to_end(body)).await).is_lost());
    assert!(has_ended);
}

#[tokio::test]
async fn a_lock_that_is_lost_before_its_caller_sees_it_is_acquired_again() {
    let space = Space::quick();
    let (proxy, client) = space.proxied().await;
    let mutex = client.mutex(PATH).unwrap();
    // The caller is not polled, like one whose thread is blocked.
    let mut waits = Box::pin(mutex.lock());
    lose_unseen(&space, (&proxy, &client), &mut waits).await;
    let guard = soon(waits).await.unwrap();
    assert!(guard.is_held(), "{guard:?}");
    guard.release().await.unwrap();
    assert_eq!(space.children(PATH).await, [""; 0]);
}

#[tokio::test]
async fn a_lock_that_is_lost_when_the_wait_is_over_is_an_error() {
    let space = Space::quick();
    let (proxy, client) = space.proxied().await;
    let (mutex, wait, begun) = (client.mutex(PATH).unwrap(), Duration::from_secs(2), Instant::now());
    let mut waits = Box::pin(mutex.lock_timeout(wait));
    lose_unseen(&space, (&proxy, &client), &mut waits).await;
    until(|| async { begun.elapsed() > wait }, "the wait is over").await;
    let error = failed(soon(waits).await);
    let LockError::Lost { reason: LossReason::SessionEnded | LossReason::NodeDeleted, .. } = error else {
        panic!("{error}");
    };
}

/// Polls `waits` once, and returns after its lock was acquired and lost.
async fn lose_unseen(space: &Space, (proxy, client): (&Proxy, &Client), waits: &mut (impl Future + Unpin)) {
    let is_pending = poll_fn(|context| Poll::Ready(Pin::new(&mut *waits).poll(context).is_pending())).await;
    assert!(is_pending);
    // The first transaction begins the connection, and the next one creates the queue. A client that holds a lock sends
    // heartbeats.
    until(|| async { proxy.requests(Opcode::MULTI) > 2 }, "the lock is acquired").await;
    assert_eq!(space.children(PATH).await.len(), 1);
    let session = client.session_id();
    space.end_session_of(client);
    until(|| async { client.session_id().is_some_and(|id| Some(id) != session) }, "it is lost").await;
}
