//! Locks that a call enters again.

use std::sync::atomic::{AtomicUsize, Ordering};

use rstest_reuse::apply;
use tokio::sync::Barrier;
use zklock::{LockError, Phase};

use super::face::{Face, Lock};
use super::templates::every_reentrant_lock;
use super::{PATH, SHORT};
use crate::support::{Space, failed, soon};

#[apply(every_reentrant_lock)]
#[tokio::test]
async fn lock_is_entered_again_with_its_node_and_token_and_the_last_hold_frees_it(
    face: Face,
    #[values([0, 1, 2], [2, 1, 0], [1, 0, 2])] order: [usize; 3],
) {
    let space = Space::new();
    let lock = face.of(&space.client().await, PATH);
    let rival = face.rival().of(&space.client().await, PATH);
    let first = lock.lock().await.unwrap();
    let second = first.scope(lock.lock()).await.unwrap();
    let third = second.scope(lock.try_lock()).await.unwrap().expect("the call holds it");
    let token = first.fencing_token();
    face.until_contending(&space, PATH, 1).await;
    let mut holds = [first, second, third].map(Some);
    for hold in order {
        assert!(rival.try_lock().await.unwrap().is_none());
        assert!(holds.iter().flatten().all(|hold| hold.is_held() && hold.fencing_token() == token));
        holds[hold].take().unwrap().release().await.unwrap();
    }
    rival.try_lock().await.unwrap().expect("it is free").release().await.unwrap();
}

/// Runs inside the lock, and returns how many others were inside when it entered. Readers stay until two are inside.
async fn enter(lock: &Lock, inside: &AtomicUsize, readers: &Barrier) -> usize {
    let body = async {
        let others = inside.fetch_add(1, Ordering::SeqCst);
        if matches!(lock, Lock::Reader(_)) {
            readers.wait().await;
        }
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        inside.fetch_sub(1, Ordering::SeqCst);
        others
    };
    lock.run(body).await.unwrap()
}

#[apply(every_reentrant_lock)]
#[tokio::test]
async fn siblings_and_strangers_that_share_a_task_exclude_each_other_or_read_together(face: Face) {
    let space = Space::new();
    let lock = face.of(&space.client().await, PATH);
    let (inside, readers) = (AtomicUsize::new(0), Barrier::new(2));
    // Boxed, because the stack of a test is small for all of them.
    let one = || Box::pin(enter(&lock, &inside, &readers));
    let both = || async { tokio::join!(one(), one()) };
    let strangers = soon(both()).await;
    let siblings = soon(lock.run(both())).await.unwrap();
    for (first, second) in [strangers, siblings] {
        assert!(face == Face::Reader || (first, second) == (0, 0), "{first} and {second} others");
    }
}

#[apply(every_reentrant_lock)]
#[tokio::test]
async fn sibling_that_waits_in_vain_says_what_for(face: Face) {
    // Readers do not wait for each other.
    let outer = if face == Face::Reader { Face::Writer } else { face };
    let client = Space::new().client().await;
    let (outer, lock) = (outer.of(&client, PATH), face.rival().of(&client, PATH));
    let guard = outer.lock().await.unwrap();
    let busy = guard.scope(face.of(&client, PATH).lock()).await.unwrap();
    let late = failed(guard.scope(lock.lock_timeout(SHORT)).await);
    assert!(matches!(late, LockError::Timeout { phase: Phase::Sibling, .. }), "{late}");
    assert!(guard.scope(lock.try_lock()).await.unwrap().is_none());
    busy.release().await.unwrap();
    guard.scope(lock.lock()).await.unwrap().release().await.unwrap();
}

#[apply(every_reentrant_lock)]
#[tokio::test]
async fn lost_lock_is_not_entered_again(face: Face) {
    let space = Space::new();
    let lock = face.of(&space.client().await, PATH);
    let guard = lock.lock().await.unwrap();
    space.delete_children(PATH).await;
    soon(guard.lost()).await;
    assert!(failed(guard.scope(lock.lock()).await).is_lost());
    assert!(failed(guard.scope(lock.try_lock()).await).is_lost());
    drop(guard);
    lock.take().await.release().await.unwrap();
}

#[apply(every_reentrant_lock)]
#[tokio::test]
async fn another_task_does_not_enter_with_the_handle_of_a_holder_that_entered_twice(face: Face) {
    let client = Space::new().client().await;
    let lock = face.of(&client, PATH);
    let outer = lock.lock().await.unwrap();
    let inner = outer.scope(lock.lock()).await.unwrap();
    let stranger = async || {
        let lock = face.rival().of(&client, PATH);
        tokio::spawn(async move { lock.lock_timeout(SHORT).await }).await.unwrap()
    };
    assert!(failed(inner.scope(stranger()).await).is_timeout());
    inner.release().await.unwrap();
    assert!(failed(outer.scope(stranger()).await).is_timeout());
    outer.release().await.unwrap();
    soon(lock.spawn()).await.unwrap().unwrap().release().await.unwrap();
}
