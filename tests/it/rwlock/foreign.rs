//! Contenders of Curator in the queue, as since 5.5 and as before.

use zklock::Standing;
use zookeeper_client as zk;

use super::{PATH, queue, read, rwlock, spawn_read, spawn_write, until_waiting};
use crate::support::{Space, soon};

const UUID: &str = "6ba7b810-9dad-41d1-80b4-00c04fd430c8";

/// A client of another library in the queue, with its own session.
struct Curator {
    zk: zk::Client,
    dir: String,
}

impl Curator {
    async fn new(space: &Space) -> Self {
        // This creates the parents.
        read(&space.client().await).await.release().await.unwrap();
        Self { zk: space.outsider().await, dir: space.full(PATH) }
    }

    /// Enters the queue as `LockInternals` does, and returns the name.
    async fn enter(&self, base: &str) -> String {
        let options = zk::CreateMode::EphemeralSequential.with_acls(zk::Acls::anyone_all());
        let prefix = format!("_c_{UUID}-{base}");
        let created = self.zk.create(&format!("{}/{prefix}", self.dir), b"10.0.0.1", &options).await;
        format!("{prefix}{}", created.unwrap().1)
    }

    /// Reads inside of a write as `ReadLock` does since 5.5, with a second node that has the writer's
    /// sequence number.
    async fn read_inside(&self, writer: &str) -> String {
        let options = zk::CreateMode::Ephemeral.with_acls(zk::Acls::anyone_all());
        let name = format!("_c_{UUID}-__READ__{}", super::sequence(writer));
        self.zk.create(&format!("{}/{name}", self.dir), b"10.0.0.1", &options).await.unwrap();
        name
    }

    async fn leave(&self, name: &str) {
        self.zk.delete(&format!("{}/{name}", self.dir), None).await.unwrap();
    }
}

#[tokio::test]
async fn curators_readers_and_writers_are_waited_for() {
    let space = Space::new();
    let (curator, client) = (Curator::new(&space).await, space.client().await);
    let reader = curator.enter("__READ__").await;
    read(&client).await.release().await.unwrap();
    assert!(rwlock(&client).try_write().await.unwrap().is_none());
    let writer = curator.enter("__WRIT__").await;
    assert!(rwlock(&client).try_read().await.unwrap().is_none());
    let reading = spawn_read(&client);
    space.until_queued(PATH, 3).await;
    until_waiting(&space, &client, &writer).await;
    curator.leave(&reader).await;
    curator.leave(&writer).await;
    soon(reading).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_downgrade_by_todays_curator_lets_our_readers_in_and_keeps_our_writers_out() {
    let space = Space::new();
    let (curator, other) = (Curator::new(&space).await, space.client().await);
    let client = space.client().await;
    let writer = curator.enter("__WRIT__").await;
    let reading = spawn_read(&client);
    space.until_queued(PATH, 2).await;
    let writing = spawn_write(&other);
    space.until_queued(PATH, 3).await;
    let ours = queue(&space).await.remove(1);
    until_waiting(&space, &client, &writer).await;

    let reader = curator.read_inside(&writer).await;
    let participants = rwlock(&client).participants().await.unwrap();
    let standings: Vec<_> = participants.iter().map(|participant| participant.standing).collect();
    assert_eq!(standings, [Standing::Holds, Standing::Holds, Standing::Waits, Standing::Waits]);
    curator.leave(&writer).await;
    let our_reader = soon(reading).await.unwrap();
    until_waiting(&space, &other, &ours).await;
    our_reader.release().await.unwrap();
    until_waiting(&space, &other, &reader).await;
    assert!(!writing.is_finished());
    curator.leave(&reader).await;
    soon(writing).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn our_writer_waits_for_both_nodes_of_a_curator_that_writes_and_reads() {
    let space = Space::new();
    for leaves_first in ["__READ__", "__WRIT__"] {
        let (curator, client) = (Curator::new(&space).await, space.client().await);
        let writer = curator.enter("__WRIT__").await;
        let reader = curator.read_inside(&writer).await;
        let writing = spawn_write(&client);
        space.until_queued(PATH, 3).await;
        let (first, last) = if leaves_first == "__READ__" { (reader, writer) } else { (writer, reader) };
        curator.leave(&first).await;
        until_waiting(&space, &client, &last).await;
        assert!(!writing.is_finished());
        curator.leave(&last).await;
        soon(writing).await.unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn a_downgrade_by_an_old_curator_is_a_reader_at_the_tail() {
    let space = Space::new();
    let (curator, client) = (Curator::new(&space).await, space.client().await);
    let writer = curator.enter("__WRIT__").await;
    let reader = curator.enter("__READ__").await;
    let writing = spawn_write(&client);
    space.until_queued(PATH, 3).await;
    until_waiting(&space, &client, &reader).await;
    curator.leave(&writer).await;
    rwlock(&space.client().await).participants().await.unwrap();
    until_waiting(&space, &client, &reader).await;
    assert!(!writing.is_finished());
    curator.leave(&reader).await;
    soon(writing).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn names_without_protection_have_their_place_too() {
    let space = Space::new();
    let (curator, client) = (Curator::new(&space).await, space.client().await);
    let options = zk::CreateMode::EphemeralSequential.with_acls(zk::Acls::anyone_all());
    let created = curator.zk.create(&format!("{}/__WRIT__", curator.dir), b"", &options).await.unwrap();
    assert!(rwlock(&client).try_read().await.unwrap().is_none());
    curator.leave(&format!("__WRIT__{}", created.1)).await;
    read(&client).await.release().await.unwrap();
}
