//! Holds follow the logical call.

use std::pin::Pin;
use std::time::Duration;

use tokio::sync::oneshot;
use zklock::{Mutex, MutexGuard};

use crate::support::{SOON, Space, soon};

const PATH: &str = "/accounts/1";

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
