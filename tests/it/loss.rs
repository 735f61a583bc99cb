//! A holder that loses its lock is notified, and its body is stopped.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use zklock::{Client, Health, LeaseState, LockError, LossReason, MutexGuard};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;

use crate::support::{SOON, Space, failed, soon, until};

const PATH: &str = "/payments/7";

#[tokio::test]
async fn a_holder_whose_node_is_deleted_is_told() {
    let space = Space::new();
    let guard = space.client().await.mutex(PATH).unwrap().lock().await.unwrap();
    space.delete_children(PATH).await;
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
    assert_eq!(guard.state(), LeaseState::Lost(LossReason::NodeDeleted));
    assert!(!guard.is_held());
    assert!(failed(guard.verify().await).is_lost());
    let error = failed(guard.set_data(PATH, "late").await);
    assert!(matches!(&error, LockError::Lost { path, .. } if path == PATH), "{error}");
    assert!(failed(guard.release().await).is_lost());
}

#[tokio::test]
async fn a_holder_is_told_although_other_contenders_came_and_went() {
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    for _ in 0..3 {
        assert!(other.mutex(PATH).unwrap().try_lock().await.unwrap().is_none());
    }
    space.delete_children(PATH).await;
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guarded_writes_that_are_under_way_when_the_lock_is_lost_are_refused_by_the_server() {
    let space = Space::new();
    let client = space.client().await;
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
async fn a_holder_whose_session_is_ended_is_told_and_the_next_lock_uses_the_next_session() {
    let space = Space::new();
    let client = space.client().await;
    let first_session = client.session_id();
    let mutex = client.mutex(PATH).unwrap();
    let guard = mutex.lock().await.unwrap();
    space.end_session_of(&client);
    let reason = soon(guard.lost()).await;
    assert!(matches!(reason, LossReason::SessionEnded | LossReason::NodeDeleted), "{reason}");
    assert!(failed(guard.set_data(PATH, "late").await).is_lost());

    let next = mutex.lock().await.unwrap();
    assert!(next.fencing_token() > guard.fencing_token());
    assert_ne!(client.session_id(), first_session);
    let holder = &mutex.participants().await.unwrap()[0];
    assert_eq!(Some(holder.session_id), client.session_id());
    assert!(failed(guard.release().await).is_lost());
    assert!(next.is_held(), "the end of an old guard does not touch the new lock");
    next.release().await.unwrap();
    space.until_empty(PATH).await;
}

/// Returns a lock that one client holds, and another client's unlimited wait for it.
async fn held_and_waited_for(
    space: &Space,
    holder: &Client,
    waiter: &Client,
) -> (MutexGuard, JoinHandle<Result<MutexGuard, LockError>>) {
    let guard = holder.mutex(PATH).unwrap().lock().await.unwrap();
    let mutex = waiter.mutex(PATH).unwrap();
    let waiting = tokio::spawn(async move { mutex.lock_timeout(Duration::MAX).await });
    space.until_queued(PATH, 2).await;
    (guard, waiting)
}

#[tokio::test]
async fn a_waiter_whose_session_is_ended_enters_the_queue_again() {
    let space = Space::new();
    let (holder, client) = (space.client().await, space.client().await);
    let (guard, waiting) = held_and_waited_for(&space, &holder, &client).await;
    space.end_session_of(&client);
    let sessions = || async {
        let participants = holder.mutex(PATH).unwrap().participants().await.unwrap();
        participants.len() == 2 && Some(participants[1].session_id) == client.session_id()
    };
    until(sessions, "the waiter is back with its next session").await;
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_waiter_whose_node_is_deleted_enters_the_queue_again_when_the_one_in_front_leaves() {
    let space = Space::new();
    let (holder, client) = (space.client().await, space.client().await);
    let (guard, waiting) = held_and_waited_for(&space, &holder, &client).await;
    let before = holder.mutex(PATH).unwrap().participants().await.unwrap();
    let node = space.full(&format!("{PATH}/{}", before[1].node));
    space.outsider().await.delete(&node, None).await.unwrap();
    assert!(guard.is_held());
    guard.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    let after = holder.mutex(PATH).unwrap().participants().await.unwrap();
    assert!(after.len() == 1 && after[0].node != before[1].node);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_body_is_dropped_before_the_loss_is_returned() {
    struct SetOnDrop(Arc<AtomicBool>);
    impl Drop for SetOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let space = Space::new();
    let mutex = space.client().await.mutex(PATH).unwrap();
    let (started, is_running) = oneshot::channel();
    let (dropped, went_on) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (body_dropped, body_went_on) = (SetOnDrop(dropped.clone()), went_on.clone());
    let run = tokio::spawn(async move {
        mutex
            .run(async move |guard| {
                let _body_dropped = body_dropped;
                started.send(()).unwrap();
                guard.lost().await;
                std::future::pending::<()>().await;
                body_went_on.store(true, Ordering::SeqCst);
            })
            .await
    });
    soon(is_running).await.unwrap();
    space.delete_children(PATH).await;
    assert!(failed(soon(run).await.unwrap()).is_lost());
    assert!(dropped.load(Ordering::SeqCst) && !went_on.load(Ordering::SeqCst));
    space.until_empty(PATH).await;
}

#[tokio::test]
async fn a_body_that_ends_after_the_loss_is_no_success() {
    let space = Space::new();
    let mutex = space.client().await.mutex(PATH).unwrap();
    let guard = mutex.lock().await.unwrap();
    let deletes = async {
        space.delete_children(PATH).await;
        // The body notices the loss and ends within one poll, which cannot be interrupted.
        let deadline = Instant::now() + SOON;
        while guard.is_held() {
            assert!(Instant::now() < deadline, "the loss is not noticed");
            std::thread::yield_now();
        }
    };
    assert!(failed(guard.run(deletes).await).is_lost());
}

#[tokio::test]
async fn the_health_of_a_client_is_connected_again_after_its_session_was_ended() {
    let space = Space::new();
    let client = space.client().await;
    let first = client.session_id();
    assert_eq!(client.health(), Health::Connected);
    space.end_session_of(&client);
    until(
        || async {
            client.session_id().is_some_and(|id| Some(id) != first) && client.health() == Health::Connected
        },
        "the next session is open",
    )
    .await;
}

#[tokio::test]
async fn what_runs_to_its_end_goes_on_when_the_lock_is_lost_and_is_told_afterwards() {
    let space = Space::new();
    let client = space.client().await;
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

fn begins() {
    unreachable!("it begins")
}

#[tokio::test]
async fn under_a_lost_lock_nothing_begins() {
    let space = Space::new();
    let guard = space.client().await.mutex(PATH).unwrap().lock().await.unwrap();
    assert_eq!(guard.run_blocking(|| 7).unwrap(), 7);
    space.delete_children(PATH).await;
    soon(guard.lost()).await;
    assert!(failed(guard.run_to_end(async { begins() }).await).is_lost());
    assert!(failed(guard.run_blocking(begins)).is_lost());
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
