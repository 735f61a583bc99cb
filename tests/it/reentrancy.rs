//! Holds follow the logical call.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use zklock::{Mutex, MutexGuard};

use crate::support::{SOON, Space, failed, soon};

const PATH: &str = "/accounts/1";
const SHORT: Duration = Duration::from_millis(150);

#[tokio::test]
async fn a_spawned_task_holds_nothing_unless_it_is_spawned_on_behalf_of_the_call() {
    let space = Space::new();
    let mutex = space.client().await.mutex(PATH).unwrap();
    let (stranger, heir) = (mutex.clone(), mutex.clone());
    let run = mutex.run(async |guard| {
        let stranger = tokio::spawn(async move { stranger.lock_timeout(SHORT).await });
        assert!(failed(stranger.await.unwrap()).is_timeout());
        let heir = zklock::spawn(async move { heir.lock().await.map(|again| again.fencing_token()) });
        assert_eq!(heir.await.unwrap().unwrap(), guard.fencing_token());
    });
    soon(run).await.unwrap();
}

#[tokio::test]
async fn an_heir_that_outlives_the_hold_does_not_prolong_it() {
    let space = Space::new();
    let mutex = space.client().await.mutex(PATH).unwrap();
    let (end, ended) = oneshot::channel::<()>();
    let heir = mutex.clone();
    let spawn = mutex.run(async |guard| {
        let heir = zklock::spawn(async move {
            ended.await.unwrap();
            heir.lock().await.map(|later| later.fencing_token())
        });
        (heir, guard.fencing_token())
    });
    let (heir, token) = spawn.await.unwrap();
    // The lock is free while the heir lives.
    space.until_empty(PATH).await;
    end.send(()).unwrap();
    assert!(soon(heir).await.unwrap().unwrap() > token, "it contends anew");
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

#[tokio::test]
async fn other_paths_and_other_clients_are_not_held() {
    let (_, [client, other]) = Space::with_clients().await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    guard
        .scope(async {
            let elsewhere = client.mutex("/accounts/2").unwrap().lock().await.unwrap();
            assert_ne!(elsewhere.fencing_token(), guard.fencing_token());
            assert!(failed(other.mutex(PATH).unwrap().lock_timeout(SHORT).await).is_timeout());
            // Holds of other locks in between do not hide this one.
            let again = elsewhere.scope(client.mutex(PATH).unwrap().lock()).await.unwrap();
            assert_eq!(again.fencing_token(), guard.fencing_token());
        })
        .await;
}

#[tokio::test]
async fn a_hold_moves_with_its_future_from_thread_to_thread() {
    let space = Space::new();
    let mutex = Arc::new(space.client().await.mutex(PATH).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).build().unwrap();
    let moving = mutex.clone();
    let task = runtime.spawn(async move {
        moving
            .run(async |_| {
                for _ in 0..200 {
                    tokio::task::yield_now().await;
                    moving.lock().await.unwrap().release().await.unwrap();
                }
            })
            .await
    });
    soon(task).await.unwrap().unwrap();
    runtime.shutdown_background();
}

/// How a generation hands over to the next one, which it spawns inside of its lock.
#[derive(Clone, Copy)]
enum HandOver {
    /// The lock is released before the next generation takes it.
    Released,
    /// The next generation enters the lock again before this one leaves it.
    Held,
}

/// Takes the lock when the parent hands over, and spawns the next generation. The last one reports its end.
fn generation(
    mutex: Mutex,
    parent: oneshot::Receiver<Option<MutexGuard>>,
    (left, hand_over): (u32, HandOver),
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
        let next = generation(mutex, told, (left - 1, hand_over), done);
        guard.scope(async { drop(zklock::spawn(next)) }).await;
        let parent = match hand_over {
            HandOver::Held => Some(guard),
            HandOver::Released => {
                guard.release().await.unwrap();
                None
            }
        };
        tell.send(parent).unwrap();
    })
}

/// Runs this many generations, each of which is spawned by the one before.
async fn generations(count: u32, hand_over: HandOver) {
    let space = Space::new();
    let mutex = space.client().await.mutex(PATH).unwrap();
    let ((tell, told), (done, is_done)) = (oneshot::channel(), oneshot::channel());
    tell.send(None).unwrap();
    zklock::spawn(generation(mutex, told, (count, hand_over), done));
    tokio::time::timeout(6 * SOON, is_done).await.expect("the generations end").unwrap();
    space.until_empty(PATH).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_function_spawns_itself_many_times() {
    generations(if cfg!(soak) { 3_000 } else { 300 }, HandOver::Released).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_entered_again_by_a_chain_of_spawned_tasks_of_any_length() {
    generations(if cfg!(soak) { 200_000 } else { 20_000 }, HandOver::Held).await;
}
