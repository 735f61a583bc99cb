//! Contenders of kazoo, which count for locks that name them. Those of Curator have the names of zklock's own.

use zklock::{Mode, Standing};
use zookeeper_client as zk;

use crate::support::{Space, sequential, soon, spawn_lock_of};

const PATH: &str = "/jobs/1";
const KAZOO: [&str; 2] = ["__lock__", "__rlock__"];
/// The starts of the names of kazoo's lock and reader.
const KAZOO_LOCK: &str = "514e2a5dd2c84a16a8d1b6a5b2c1a9f0__lock__";
const KAZOO_READER: &str = "514e2a5dd2c84a16a8d1b6a5b2c1a9f0__rlock__";

/// Enters the queue as another library does, with a name that starts like this. Returns the node.
async fn enter(space: &Space, outsider: &zk::Client, prefix: &str) -> String {
    let path = space.full(&format!("{PATH}/{prefix}"));
    let (_, sequence) = outsider.create(&path, b"stranger", &sequential()).await.unwrap();
    format!("{path}{sequence}")
}

async fn with_parent(space: &Space) -> (zklock::Client, zk::Client) {
    let client = space.client().await;
    client.mutex(PATH).unwrap().lock().await.unwrap().release().await.unwrap();
    (client, space.outsider().await)
}

#[tokio::test]
async fn a_mutex_waits_for_kazoos_locks_only_in_front_and_where_they_are_named() {
    let space = Space::new();
    let (client, outsider) = with_parent(&space).await;
    let node = enter(&space, &outsider, KAZOO_LOCK).await;
    let mutex = client.mutex(PATH).unwrap();
    mutex.lock().await.unwrap().release().await.unwrap();
    let mutex = mutex.also_behind(KAZOO);
    assert!(mutex.try_lock().await.unwrap().is_none());
    let waiting = spawn_lock_of(&mutex);
    space.until_queued(PATH, 2).await;
    let participants = mutex.participants().await.unwrap();
    let seen: Vec<_> = participants.iter().map(|p| (p.identity == "stranger", p.standing)).collect();
    assert_eq!(seen, [(true, Standing::Holds), (false, Standing::Waits)]);
    outsider.delete(&node, None).await.unwrap();
    let held = soon(waiting).await.unwrap();
    enter(&space, &outsider, KAZOO_LOCK).await;
    held.verify().await.unwrap();
    held.release().await.unwrap();
}

#[tokio::test]
async fn readers_share_with_kazoos_readers_and_writers_wait_for_them() {
    let space = Space::new();
    let (client, outsider) = with_parent(&space).await;
    let lock = client.rwlock(PATH).unwrap().also_behind(KAZOO);
    let reader = enter(&space, &outsider, KAZOO_READER).await;
    let read = lock.read().await.unwrap();
    assert!(lock.try_write().await.unwrap().is_none());
    let modes: Vec<_> = lock.participants().await.unwrap().iter().map(|p| (p.mode, p.standing)).collect();
    assert_eq!(modes, [(Mode::Read, Standing::Holds); 2]);
    outsider.delete(&reader, None).await.unwrap();
    read.release().await.unwrap();
    let writer = enter(&space, &outsider, KAZOO_LOCK).await;
    assert!(lock.try_read().await.unwrap().is_none());
    outsider.delete(&writer, None).await.unwrap();
    lock.write().await.unwrap().release().await.unwrap();
}
