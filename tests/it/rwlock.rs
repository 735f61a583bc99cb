//! The contract of the read-write lock.

mod calls;
mod cuts;
mod downgrade;
mod foreign;
mod loss;
mod turns;

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::task::JoinHandle;
use zklock::{Client, ReadGuard, RwLock, WriteGuard};

use crate::support::{Server, Space, soon, until};

const PATH: &str = "/catalogue";
/// A wait in which a contender enters the queue even on a busy machine.
const SHORT: Duration = Duration::from_millis(500);

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

/// Returns the sequence number that the server appended to a node's name.
fn sequence(name: &str) -> &str {
    &name[name.len() - 10..]
}

fn side(name: &str) -> &str {
    name.split('-').next_back().unwrap().trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Returns the sessions that watch the data of a child of the lock.
fn watchers(space: &Space, node: &str) -> BTreeSet<i64> {
    watchers_on(space.server(), &space.full(&format!("{PATH}/{node}")))
}

/// Returns the sessions that watch the data of the node with this path on the server.
pub(crate) fn watchers_on(server: &Server, path: &str) -> BTreeSet<i64> {
    let watches = server.four_letter("wchp").unwrap();
    let of_node = watches.lines().skip_while(|line| *line != path).skip(1);
    let sessions = of_node.map_while(|line| line.trim().strip_prefix("0x"));
    sessions.map(|id| u64::from_str_radix(id, 16).unwrap().cast_signed()).collect()
}

/// Waits until a client waits for this node to be deleted.
async fn until_waiting(space: &Space, client: &Client, node: &str) {
    let session = client.session_id().expect("the client has a session");
    until(|| async { watchers(space, node).contains(&session) }, "the contender watches the node").await;
}

#[tokio::test]
async fn a_try_to_read_is_in_the_way_of_no_reader_and_leaves_no_trace_behind_a_writer() {
    let space = Space::new();
    let (first, second) = (rwlock(&space.client().await), rwlock(&space.client().await));
    let reader = first.try_read().await.unwrap().expect("the lock is free");
    let other = second.try_read().await.unwrap().expect("readers share");
    assert!(second.try_write().await.unwrap().is_none(), "readers exclude a writer");
    assert_eq!(space.children(PATH).await.len(), 2);
    reader.release().await.unwrap();
    other.release().await.unwrap();
    let writer = first.try_write().await.unwrap().expect("the lock is free again");
    assert!(second.try_read().await.unwrap().is_none());
    assert!(second.try_write().await.unwrap().is_none());
    assert_eq!(space.children(PATH).await.len(), 1);
    writer.release().await.unwrap();
}

#[tokio::test]
async fn names_and_data_on_the_wire_are_curators() {
    let space = Space::new();
    let client = space.config().identity("node-7").connect().await.unwrap();
    let reader = read(&client).await;
    let writing = spawn_write(&client);
    space.until_queued(PATH, 2).await;
    let names = queue(&space).await;
    for (name, base) in names.iter().zip(["__READ__", "__WRIT__"]) {
        let (protected, rest) = name.split_at("_c_".len());
        let (uuid, rest) = rest.split_at(36);
        assert_eq!((protected, rest), ("_c_", &*format!("-{base}{}", sequence(name))), "{name}");
        assert_eq!(uuid.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{name}");
        assert_eq!(&uuid[14..15], "4", "{name}");
        let path = space.full(&format!("{PATH}/{name}"));
        let (data, stat) = space.outsider().await.get_data(&path).await.unwrap();
        assert_eq!(data, b"node-7");
        assert_eq!(Some(stat.ephemeral_owner), client.session_id());
    }
    assert_eq!((sequence(&names[0]), sequence(&names[1])), ("0000000000", "0000000001"));
    reader.release().await.unwrap();
    soon(writing).await.unwrap().release().await.unwrap();
}
