//! The contract of the read-write lock.

mod calls;
mod cuts;
mod downgrade;
mod loss;
mod passing;
mod turns;

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::task::JoinHandle;
use zklock::{Client, ReadGuard, RwLock, WriteGuard};

use crate::support::{Space, soon, until};

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
    space.server().watchers(&space.full(&format!("{PATH}/{node}")))
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
    let _writer = first.try_write().await.unwrap().expect("the lock is free again");
    assert!(second.try_read().await.unwrap().is_none());
    assert!(second.try_write().await.unwrap().is_none());
    assert_eq!(space.children(PATH).await.len(), 1);
}
