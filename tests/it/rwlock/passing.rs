//! The calls of one client at one read-write lock.

use zklock::Client;
use zklock_testkit::wire::Opcode;

use super::{PATH, queue, rwlock, side, spawn_read, spawn_write};
use crate::local_queue::requests_for_locks;
use crate::support::{Space, soon, until, until_waiting_here};

async fn until_in_line(client: &Client, count: u32) {
    let lock = rwlock(client);
    until_waiting_here(async || lock.participants().await, count).await;
}

/// Returns the roles of the nodes in the queue, in its order.
async fn roles(space: &Space) -> Vec<&'static str> {
    let is_reader = |node: &String| side(node) == "__READ__";
    queue(space).await.iter().map(|node| if is_reader(node) { "read" } else { "write" }).collect()
}

#[tokio::test]
async fn a_hundred_readers_share_one_node_and_only_the_first_costs_requests() {
    let (space, proxy, client) = Space::with_proxy().await;
    let first = rwlock(&client).read().await.unwrap();
    until(async || proxy.replies(Opcode::GET_CHILDREN) > 0, "the holder has looked around").await;
    let requests = requests_for_locks(&proxy);
    let mut readers = Vec::new();
    for _ in 0..100 {
        readers.push(rwlock(&client).read().await.unwrap());
    }
    assert_eq!(requests_for_locks(&proxy), requests);
    assert_eq!(roles(&space).await, ["read"]);
    let mut tokens: Vec<_> = readers.iter().map(|reader| reader.fencing_token()).collect();
    tokens.insert(0, first.fencing_token());
    assert!(tokens.is_sorted_by(|a, b| a < b));
    first.release().await.unwrap();
    for reader in readers {
        assert!(reader.is_held());
        reader.release().await.unwrap();
    }
    assert_eq!(space.children(PATH).await, [""; 0]);
}

#[tokio::test]
async fn writers_and_readers_follow_each_other_under_one_writers_node() {
    let (space, client) = Space::with_client().await;
    let writer = rwlock(&client).write().await.unwrap();
    let readers = [spawn_read(&client), spawn_read(&client)];
    until_in_line(&client, 2).await;
    let last = spawn_write(&client);
    until_in_line(&client, 3).await;
    let node = space.children(PATH).await;
    let mut tokens = vec![writer.fencing_token()];
    writer.release().await.unwrap();
    let [first, second] = readers;
    let readers = [soon(first).await.unwrap(), soon(second).await.unwrap()];
    assert!(!last.is_finished());
    for reader in readers {
        tokens.push(reader.fencing_token());
        reader.release().await.unwrap();
    }
    let writer = soon(last).await.unwrap();
    tokens.push(writer.fencing_token());
    assert_eq!(space.children(PATH).await, node);
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

#[tokio::test]
async fn readers_under_a_writers_node_let_other_clients_readers_in_when_their_time_is_over() {
    let (space, [client, other]) = Space::with_clients().await;
    let writer = rwlock(&client).write().await.unwrap();
    let reading = spawn_read(&client);
    until_in_line(&client, 1).await;
    writer.release().await.unwrap();
    let reader = soon(reading).await.unwrap();
    assert_eq!(roles(&space).await, ["write"]);
    // The work of this reader may wait for the work of another client's reader.
    let foreign = soon(spawn_read(&other)).await.unwrap();
    assert!(reader.is_held() && foreign.is_held());
    assert_eq!(roles(&space).await, ["read", "read"]);
}

#[tokio::test]
async fn a_local_writer_waits_for_a_reader_of_a_downgraded_lock() {
    let (space, [client, other]) = Space::with_clients().await;
    let writer = rwlock(&client).write().await.unwrap();
    let writing = spawn_write(&client);
    until_in_line(&client, 1).await;
    let reader = writer.downgrade().await.unwrap();
    until(async || roles(&space).await == ["read", "write"], "the writer has a place of its own").await;
    assert!(!writing.is_finished());
    assert!(rwlock(&other).try_read().await.unwrap().is_none(), "a writer waits in front");
    reader.release().await.unwrap();
    soon(writing).await.unwrap().release().await.unwrap();
    assert_eq!(space.children(PATH).await, [""; 0]);
}
