//! The order of turns, and the waiters that are woken for them.

use zklock_testkit::wire::Opcode;

use super::{PATH, SHORT, queue, read, rwlock, spawn_read, spawn_write, until_waiting, watchers, write};
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
async fn a_reader_watches_the_nearest_writer_in_front_and_a_writer_its_predecessor() {
    let space = Space::new();
    let mut clients = Vec::new();
    for _ in 0..6 {
        clients.push(space.client().await);
    }
    let held = write(&clients[0]).await;
    let (mut readers, mut writers) = (Vec::new(), Vec::new());
    for (place, client) in clients.iter().enumerate().skip(1) {
        // The queue is W0 R1 W2 R3 R4 W5.
        match place {
            2 | 5 => writers.push(spawn_write(client)),
            _ => readers.push(spawn_read(client)),
        }
        space.until_queued(PATH, place + 1).await;
    }
    let names = queue(&space).await;
    for (waiter, watched) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 4)] {
        until_waiting(&space, &clients[waiter], &names[watched]).await;
    }
    for (place, name) in names.iter().enumerate() {
        let others = watchers(&space, name).into_iter().filter(|id| Some(*id) != clients[place].session_id());
        assert_eq!(others.count(), [1, 1, 2, 0, 1, 0][place], "watches of {name}");
    }
    held.release().await.unwrap();
    let mut readers = readers.into_iter();
    soon(readers.next().unwrap()).await.unwrap().release().await.unwrap();
    let mut writers = writers.into_iter();
    soon(writers.next().unwrap()).await.unwrap().release().await.unwrap();
    for reader in readers {
        soon(reader).await.unwrap().release().await.unwrap();
    }
    soon(writers.next().unwrap()).await.unwrap().release().await.unwrap();
    space.until_empty(PATH).await;
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

#[tokio::test]
async fn a_reader_that_does_not_wait_joins_one_of_its_client_that_is_only_entering() {
    let (space, proxy, client) = Space::with_proxy().await;
    rwlock(&client).read().await.unwrap().release().await.unwrap();
    let created = proxy.on_reply(Opcode::CREATE2).hold();
    let entering = tokio::spawn({
        let lock = rwlock(&client);
        async move { lock.read().await }
    });
    soon(created.struck()).await;
    let lock = rwlock(&client);
    let mut tried = std::pin::pin!(lock.try_read());
    assert!(futures_util::poll!(&mut tried).is_pending(), "nobody is in the way");
    assert!(rwlock(&client).try_write().await.unwrap().is_none());
    created.release();
    let joined = soon(tried).await.unwrap().expect("readers share");
    soon(entering).await.unwrap().unwrap().release().await.unwrap();
    joined.release().await.unwrap();
    space.until_empty(PATH).await;
}
