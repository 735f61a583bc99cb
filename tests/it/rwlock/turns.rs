//! The order of turns, and the waiters that are woken for them.

use super::{PATH, SHORT, queue, read, rwlock, spawn_read, spawn_write, until_waiting};
use crate::support::{Space, failed, soon};

#[tokio::test]
async fn a_reader_behind_a_writer_that_waits_waits_too() {
    let (space, [a, b, c]) = Space::with_clients().await;
    let reader = read(&a).await;
    let writing = spawn_write(&b);
    space.until_queued(PATH, 2).await;
    assert!(rwlock(&c).try_read().await.unwrap().is_none(), "a reader must not pass the writer");
    let reading = spawn_read(&c);
    space.until_queued(PATH, 3).await;
    until_waiting(&space, &c, &queue(&space).await[1]).await;
    reader.release().await.unwrap();
    let writer = soon(writing).await.unwrap();
    assert!(!reading.is_finished());
    let token = writer.fencing_token();
    writer.release().await.unwrap();
    let reader = soon(reading).await.unwrap();
    assert!(reader.fencing_token() > token);
    reader.release().await.unwrap();
}

#[tokio::test]
async fn a_writer_that_gives_up_lets_the_readers_behind_it_join_those_in_front() {
    let (space, [a, b, c]) = Space::with_clients().await;
    let reader = read(&a).await;
    let writing = spawn_write(&b);
    space.until_queued(PATH, 2).await;
    let reading = spawn_read(&c);
    space.until_queued(PATH, 3).await;
    until_waiting(&space, &c, &queue(&space).await[1]).await;
    writing.abort();
    soon(reading).await.unwrap().release().await.unwrap();
    assert!(reader.is_held());
    reader.release().await.unwrap();
    space.until_empty(PATH).await;
}

#[tokio::test]
async fn a_writer_waits_until_the_last_of_the_readers_is_gone() {
    let (space, [a, c, d]) = Space::with_clients().await;
    let [first, second, third] = [read(&a).await, read(&c).await, read(&d).await];
    let b = space.client().await;
    let writing = spawn_write(&b);
    space.until_queued(PATH, 4).await;
    let names = queue(&space).await;
    until_waiting(&space, &b, &names[2]).await;
    // The reader that it watches is released first.
    third.release().await.unwrap();
    until_waiting(&space, &b, &names[1]).await;
    first.release().await.unwrap();
    assert!(failed(rwlock(&b).write_timeout(SHORT).await).is_contended());
    assert!(!writing.is_finished());
    second.release().await.unwrap();
    soon(writing).await.unwrap().release().await.unwrap();
}
