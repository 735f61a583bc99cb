//! The read-write lock: the order of turns, and the calls of one client. `contract` has what it shares with other locks.

mod calls;
mod downgrade;

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::task::JoinHandle;
use zklock::{Client, ReadGuard, RwLock, WriteGuard};
use zklock_testkit::wire::Opcode;

use crate::local_queue::requests_for_locks;
use crate::support::{Space, soon, until, until_waiting_here};

const PATH: &str = "/catalogue";
fn rwlock(client: &Client) -> RwLock {
    client.rwlock(PATH).unwrap()
}

async fn read(client: &Client) -> ReadGuard {
    soon(rwlock(client).read_timeout(Duration::MAX)).await.unwrap()
}

async fn write(client: &Client) -> WriteGuard {
    soon(rwlock(client).write_timeout(Duration::MAX)).await.unwrap()
}

fn spawn_read(client: &Client) -> JoinHandle<ReadGuard> {
    let client = client.clone();
    tokio::spawn(async move { read(&client).await })
}

fn spawn_write(client: &Client) -> JoinHandle<WriteGuard> {
    let client = client.clone();
    tokio::spawn(async move { write(&client).await })
}

/// Returns the children of the lock in the order of their sequence numbers.
async fn queue(space: &Space) -> Vec<String> {
    let mut children = space.children(PATH).await;
    children.sort_unstable_by_key(|name| sequence(name).to_owned());
    children
}

fn sequence(name: &str) -> &str {
    &name[name.len() - 10..]
}

fn side(name: &str) -> &str {
    name.split('-').next_back().unwrap().trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Returns the sessions that watch the data of a child of the lock.
fn watchers(space: &Space, node: &str) -> BTreeSet<i64> {
    space.server().watchers(&space.full(&format!("{PATH}/{node}")))
}

/// Waits until a client waits for this node to be deleted.
async fn until_waiting(space: &Space, client: &Client, node: &str) {
    let session = client.session_id().expect("the client has a session");
    until(|| async { watchers(space, node).contains(&session) }, "the contender watches the node").await;
}

#[tokio::test]
async fn a_reader_waits_behind_a_writer_that_waits_and_joins_those_in_front_when_the_writer_gives_up() {
    let (space, [a, b, c]) = Space::with_clients().await;
    let (reader, writing) = (read(&a).await, spawn_write(&b));
    space.until_queued(PATH, 2).await;
    assert!(rwlock(&c).try_read().await.unwrap().is_none(), "a reader must not pass the writer");
    let reading = spawn_read(&c);
    space.until_queued(PATH, 3).await;
    until_waiting(&space, &c, &queue(&space).await[1]).await;
    writing.abort();
    soon(reading).await.unwrap().release().await.unwrap();
    assert!(reader.is_held());
    reader.release().await.unwrap();
    space.until_empty(PATH).await;
}

async fn until_in_line(client: &Client, count: u32) {
    let lock = rwlock(client);
    until_waiting_here(async || lock.participants().await, count).await;
}

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
