//! Mutexes that are taken, however long that takes.

use std::time::Duration;

use tokio::task::JoinHandle;
use zklock::{Client, Mutex, MutexGuard};

use super::soon;

/// Takes the mutex at a path.
pub(crate) async fn lock(client: &Client, path: &str) -> MutexGuard {
    soon(client.mutex(path).unwrap().lock_timeout(Duration::MAX)).await.unwrap()
}

/// Takes the mutex at a path in another task.
pub(crate) fn spawn_lock(client: &Client, path: &str) -> JoinHandle<MutexGuard> {
    spawn_lock_of(&client.mutex(path).unwrap())
}

/// Takes a mutex in another task.
pub(crate) fn spawn_lock_of(mutex: &Mutex) -> JoinHandle<MutexGuard> {
    let mutex = mutex.clone();
    tokio::spawn(async move { mutex.lock_timeout(Duration::MAX).await.unwrap() })
}
