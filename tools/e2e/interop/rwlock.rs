//! The order of readers and writers in `RwLock` and Curator's `InterProcessReadWriteLock`, and downgrades.
//!
//! When Curator 5.4 downgrades, its reader enters at the tail of the queue, which lets in a writer that is
//! already waiting (CURATOR-621). Therefore no writer waits in these tests when Curator downgrades. In
//! addition, Java creates the nodes that Curator creates since 5.5, where the reader takes the number of its
//! writer.

use zklock::{ReadGuard, RwLock};

use crate::support::{Space, soon};

const PATH: &str = "/catalogue";

fn reading(lock: RwLock) -> tokio::task::JoinHandle<ReadGuard> {
    tokio::spawn(async move { lock.read().await.unwrap() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_both_sides_wait_behind_a_waiting_writer_in_java() {
    let space = Space::new();
    let (first, second) = (space.client("first").await, space.client("second").await);
    let mut writer = space.actor("rwlock", PATH).await;
    let mut reader = space.actor("rwlock", PATH).await;
    let ours = first.rwlock(PATH).unwrap().read().await.unwrap();
    writer.order("acquire write");
    space.until_waits(PATH, space.peer().session_id(), 0).await;
    let behind = reading(second.rwlock(PATH).unwrap());
    space.until_waits(PATH, second.session_id(), 1).await;
    reader.order("acquire read");
    space.until_waits(PATH, space.peer().session_id(), 1).await;
    ours.release().await.unwrap();
    writer.answer().await;
    assert!(!behind.is_finished());
    reader.assert_busy();
    writer.ask("release write").await;
    let behind = soon(behind).await.unwrap();
    reader.answer().await;
    behind.release().await.unwrap();
    reader.ask("release read").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_both_sides_wait_behind_a_waiting_writer_in_rust() {
    let space = Space::new();
    let (first, second) = (space.client("first").await, space.client("second").await);
    let mut theirs = space.actor("rwlock", PATH).await;
    let mut reader = space.actor("rwlock", PATH).await;
    theirs.ask("acquire read").await;
    let lock = first.rwlock(PATH).unwrap();
    let writer = tokio::spawn(async move { lock.write().await.unwrap() });
    space.until_waits(PATH, first.session_id(), 0).await;
    reader.order("acquire read");
    space.until_waits(PATH, space.peer().session_id(), 1).await;
    let behind = reading(second.rwlock(PATH).unwrap());
    space.until_waits(PATH, second.session_id(), 1).await;
    theirs.ask("release read").await;
    let writer = soon(writer).await.unwrap();
    assert!(!behind.is_finished());
    reader.assert_busy();
    writer.release().await.unwrap();
    let behind = soon(behind).await.unwrap();
    reader.answer().await;
    behind.release().await.unwrap();
    reader.ask("release read").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_downgrade_in_rust_lets_readers_in_java_in_and_keeps_a_waiting_writer_in_java_out() {
    let space = Space::new();
    let client = space.client("ours").await;
    let mut reader = space.actor("rwlock", PATH).await;
    let mut writer = space.actor("rwlock", PATH).await;
    let ours = client.rwlock(PATH).unwrap().write().await.unwrap();
    reader.order("acquire read");
    space.until_waits(PATH, space.peer().session_id(), 0).await;
    writer.order("acquire write");
    space.until_waits(PATH, space.peer().session_id(), 1).await;
    let ours = ours.downgrade().await.unwrap();
    reader.answer().await;
    reader.ask("release read").await;
    // The writer has listed the queue again, and found the reader in Rust in front of it.
    space.until_waits(PATH, space.peer().session_id(), 0).await;
    writer.assert_busy();
    ours.release().await.unwrap();
    writer.answer().await;
    writer.ask("release write").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_downgrade_in_java_lets_readers_in_rust_in_and_keeps_later_writers_in_rust_out() {
    let space = Space::new();
    let client = space.client("ours").await;
    let lock = client.rwlock(PATH).unwrap();
    let mut theirs = space.actor("rwlock", PATH).await;
    for order in ["acquire write", "acquire read", "release write"] {
        theirs.ask(order).await;
    }
    let ours = lock.try_read().await.unwrap().expect("only readers hold the lock");
    ours.release().await.unwrap();
    let writer = tokio::spawn(async move { lock.write().await.unwrap() });
    space.until_waits(PATH, client.session_id(), 0).await;
    assert!(!writer.is_finished());
    theirs.ask("release read").await;
    soon(writer).await.unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_downgrade_like_that_of_later_curators_keeps_a_waiting_writer_in_rust_out() {
    let space = Space::new();
    let (first, second) = (space.client("first").await, space.client("second").await);
    let mut theirs = space.actor("rwlock", PATH).await;
    theirs.ask("acquire write").await;
    let reader = reading(first.rwlock(PATH).unwrap());
    space.until_waits(PATH, first.session_id(), 0).await;
    let lock = second.rwlock(PATH).unwrap();
    let writer = tokio::spawn(async move { lock.write().await.unwrap() });
    space.until_waits(PATH, second.session_id(), 1).await;
    let downgraded = theirs.ask("downgrade").await;
    theirs.ask("release write").await;
    soon(reader).await.unwrap().release().await.unwrap();
    // The writer has listed the queue again, and found the reader in Java in front of it.
    assert_eq!(space.queue(PATH).await[0], downgraded);
    space.until_waits(PATH, second.session_id(), 0).await;
    assert!(!writer.is_finished());
    theirs.ask(&format!("delete {downgraded}")).await;
    soon(writer).await.unwrap().release().await.unwrap();
}
