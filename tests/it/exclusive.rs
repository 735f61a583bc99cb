//! The contract of the mutex that is not reentrant.

use std::time::Duration;

use zklock::{Client, LockError, Mutex};

use crate::support::{Space, failed, soon, spawn_lock_of, until_in_line};

const PATH: &str = "/ledgers/1";
const GATE: &str = "/ledgers/1/locks";
const LEASES: &str = "/ledgers/1/leases";

fn exclusive(client: &Client) -> Mutex {
    client.exclusive(PATH).unwrap()
}

async fn until_nothing_is_left(space: &Space) {
    space.until_empty(LEASES).await;
    space.until_empty(GATE).await;
}

#[tokio::test]
async fn entering_again_in_one_call_is_an_error_and_no_deadlock() {
    let (space, client) = Space::with_client().await;
    let mutex = exclusive(&client);
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
                failed(soon(exclusive(&client).lock()).await),
                failed(soon(client.lock_all([zklock::Member::exclusive(PATH)])).await),
            ];
            for error in again {
                assert!(matches!(&error, LockError::Reentrant { path, .. } if path == PATH), "{error}");
                assert!(error.is_invalid());
            }
            // A deeper level of the call is refused too.
            let other = client.mutex("/ledgers/2").unwrap();
            let error = failed(other.run(async |_| mutex.lock().await).await.unwrap());
            assert!(matches!(error, LockError::Reentrant { .. }), "{error}");
            let (heir, mutex) = (client.clone(), mutex.clone());
            let error = failed(zklock::spawn(async move { exclusive(&heir).lock().await }).await.unwrap());
            assert!(matches!(error, LockError::Reentrant { .. }), "{error}");
            drop(mutex);
        })
        .await;
    assert_eq!(space.children(LEASES).await.len(), 1);
    assert!(guard.is_held());
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().release().await.unwrap();
    until_nothing_is_left(&space).await;
}
