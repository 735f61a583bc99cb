//! Locks that a call enters again, or may not.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rstest_reuse::apply;
use tokio::sync::{Barrier, oneshot};
use zklock::{LockError, Member, Mutex, MutexGuard, Phase};

use super::face::{Face, Lock};
use super::templates::every_reentrant_lock;
use super::{PATH, SHORT};
use crate::support::{SOON, Space, failed, soon, spawn_lock_of, until_in_line};

#[apply(every_reentrant_lock)]
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
async fn sibling_that_waits_in_vain_says_what_for(face: Face) {
    // Readers do not wait for each other.
    let outer = if face == Face::Reader { Face::Writer } else { face };
    let client = Space::new().client().await;
    let (outer, lock) = (outer.of(&client, PATH), face.rival().of(&client, PATH));
    let guard = outer.lock().await.unwrap();
    let busy = guard.scope(face.of(&client, PATH).lock()).await.unwrap();
    let late = failed(guard.scope(lock.lock_timeout(SHORT)).await);
    let LockError::Timeout { phase: Phase::Sibling, holder: Some(holder), .. } = &late else {
        panic!("{late}")
    };
    assert!(holder.is_this_client() && late.is_contended());
    assert!(guard.scope(lock.try_lock()).await.unwrap().is_none());
    busy.release().await.unwrap();
    guard.scope(lock.lock()).await.unwrap().release().await.unwrap();
}

#[apply(every_reentrant_lock)]
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

#[tokio::test]
async fn entering_a_lock_that_is_not_reentrant_again_in_one_call_is_an_error_and_no_deadlock() {
    let (space, client) = Space::with_client().await;
    let mutex = client.exclusive(PATH).unwrap();
    let guard = mutex.lock().await.unwrap();
    let waiting = spawn_lock_of(&mutex);
    until_in_line(&mutex, 1).await;
    guard
        .scope(async {
            let again = [
                failed(soon(mutex.lock_timeout(Duration::MAX)).await),
                failed(soon(mutex.try_lock()).await),
                failed(soon(mutex.run(async |_| ())).await),
                // Another handle on the same path is the same lock.
                failed(soon(client.exclusive(PATH).unwrap().lock()).await),
                failed(soon(client.lock_all([Member::exclusive(PATH)])).await),
            ];
            for error in again {
                assert!(matches!(&error, LockError::Reentrant { path, .. } if path == PATH), "{error}");
                assert!(error.is_invalid());
            }
            // A deeper level of the call is refused too.
            let other = client.mutex("/other").unwrap();
            let error = failed(other.run(async |_| mutex.lock().await).await.unwrap());
            assert!(matches!(error, LockError::Reentrant { .. }), "{error}");
            let (heir, mutex) = (client.clone(), mutex.clone());
            let error = failed(
                zklock::spawn(async move { heir.exclusive(PATH).unwrap().lock().await }).await.unwrap(),
            );
            assert!(matches!(error, LockError::Reentrant { .. }), "{error}");
            drop(mutex);
        })
        .await;
    Face::Exclusive.assert_held_once(&space, PATH).await;
    assert!(guard.is_held());
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().release().await.unwrap();
    Face::Exclusive.until_contending(&space, PATH, 0).await;
}

#[tokio::test]
async fn a_sibling_that_waits_does_not_keep_the_lock() {
    let space = Space::new();
    let mutex = space.client().await.mutex(PATH).unwrap();
    let guard = mutex.lock().await.unwrap();
    let busy = guard.scope(mutex.lock()).await.unwrap();
    let waiting = mutex.clone();
    let waiting = guard.scope(async { [zklock::spawn(async move { waiting.lock().await })] }).await;
    let token = guard.fencing_token();
    guard.release().await.unwrap();
    busy.release().await.unwrap();
    let [waiting] = waiting;
    let later = soon(waiting).await.unwrap().unwrap();
    assert!(later.fencing_token() > token, "it contends anew");
}

/// Takes the lock when the parent hands over, enters it before the parent leaves it, and spawns the next generation. The
/// last one reports its end.
fn generation(
    mutex: Mutex,
    parent: oneshot::Receiver<Option<MutexGuard>>,
    left: u32,
    done: oneshot::Sender<()>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let parent = parent.await.unwrap();
        let guard = mutex.lock_timeout(Duration::MAX).await.unwrap();
        drop(parent);
        let (tell, told) = oneshot::channel();
        if left == 0 {
            guard.release().await.unwrap();
            return done.send(()).unwrap();
        }
        let next = generation(mutex, told, left - 1, done);
        guard.scope(async { drop(zklock::spawn(next)) }).await;
        tell.send(Some(guard)).unwrap();
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_entered_again_by_a_chain_of_spawned_tasks_of_any_length() {
    let (space, client) = Space::with_client().await;
    let ((tell, told), (done, is_done)) = (oneshot::channel(), oneshot::channel());
    tell.send(None).unwrap();
    let length = if cfg!(soak) { 200_000 } else { 20_000 };
    zklock::spawn(generation(client.mutex(PATH).unwrap(), told, length, done));
    tokio::time::timeout(6 * SOON, is_done).await.expect("the generations end").unwrap();
    space.until_empty(PATH).await;
}
