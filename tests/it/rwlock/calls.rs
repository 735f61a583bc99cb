//! The holds of one logical call, on either side.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use zklock::LockError;
use zklock_testkit::wire::Opcode;

use super::{PATH, queue, rwlock};
use crate::support::{Space, failed, soon, until};

#[track_caller]
fn check_upgrade(error: &LockError) {
    assert!(matches!(error, LockError::Upgrade { path, .. } if path == PATH), "{error}");
    assert!(error.is_invalid() && !error.is_contended());
}

#[tokio::test]
async fn a_reader_enters_again_although_a_writer_waits() {
    let (space, [client, other]) = Space::with_clients().await;
    let lock = rwlock(&client);
    let reader = lock.read().await.unwrap();
    let writing = super::spawn_write(&other);
    space.until_queued(PATH, 2).await;
    super::until_waiting(&space, &other, &queue(&space).await[0]).await;
    let again = reader.scope(lock.read()).await.unwrap();
    reader.release().await.unwrap();
    assert!(again.is_held() && !writing.is_finished());
}

#[tokio::test]
async fn reader_may_not_write_and_is_told_at_once() {
    let space = Space::new();
    let lock = rwlock(&space.client().await);
    let reader = lock.read().await.unwrap();
    let inside = reader.scope(async {
        check_upgrade(&failed(lock.write().await));
        check_upgrade(&failed(lock.try_write().await));
        check_upgrade(&failed(lock.write_timeout(Duration::MAX).await));
        check_upgrade(&failed(lock.run_write(async |_| ()).await));
        let again = lock.read().await.unwrap();
        check_upgrade(&failed(again.scope(lock.write()).await));
        let heir = lock.clone();
        check_upgrade(&failed(zklock::spawn(async move { heir.write().await }).await.unwrap()));
        assert_eq!(queue(&space).await.len(), 1);
    });
    inside.await;
    reader.verify().await.unwrap();
    reader.release().await.unwrap();
    lock.write().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_sibling_that_writes_waits_for_those_that_read_and_keeps_later_ones_out() {
    let space = Space::new();
    let lock = rwlock(&space.client().await);
    let run = lock.run_write(async |writer| {
        let reader = lock.read().await.unwrap();
        let (asked, is_asked) = oneshot::channel();
        let waiting = lock.clone();
        let spawns = async {
            let waits = async move {
                asked.send(()).unwrap();
                waiting.write().await
            };
            [zklock::spawn(waits)]
        };
        let [waiting] = writer.scope(spawns).await;
        is_asked.await.unwrap();
        // A waiting writer is in front of the readers that come after it.
        // A reader that is let in is released at once.
        until(async || lock.try_read().await.unwrap().is_none(), "the writer waits").await;
        assert!(!waiting.is_finished());
        reader.release().await.unwrap();
        waiting.await.unwrap().unwrap().release().await.unwrap();
    });
    soon(run).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_waits_for_the_server_although_a_call_inside_looks_at_the_lock() {
    let (space, proxy, client) = Space::with_proxy().await;
    let lock = rwlock(&client);
    for round in 0..100 {
        let reader = lock.read().await.unwrap();
        let (looks, writer) = (Arc::new(AtomicUsize::new(0)), lock.clone());
        let looked = looks.clone();
        // Each try looks at the hold around it, and is refused at once while there is one.
        let looking = tokio::spawn(reader.scope(async move {
            while let Err(LockError::Upgrade { .. }) = writer.try_write().await {
                looked.fetch_add(1, Ordering::Relaxed);
            }
        }));
        until(|| async { looks.load(Ordering::Relaxed) > 0 }, "the call inside looks").await;
        let held = proxy.on_request(Opcode::DELETE).hold();
        let releasing = tokio::spawn(reader.release());
        soon(held.struck()).await;
        assert!(!releasing.is_finished(), "round {round}: the node is there");
        held.release();
        soon(releasing).await.unwrap().unwrap();
        soon(looking).await.unwrap();
        space.until_empty(PATH).await;
        proxy.clear();
    }
}
