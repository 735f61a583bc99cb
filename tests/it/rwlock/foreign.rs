//! Contenders of Curator in the queue, as since 5.5 and as before.

use zookeeper_client as zk;

use super::{PATH, read, rwlock, spawn_read, until_waiting};
use crate::support::{Space, sequential, soon};

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
        let prefix = format!("_c_{UUID}-{base}");
        let created = self.zk.create(&format!("{}/{prefix}", self.dir), b"10.0.0.1", &sequential()).await;
        format!("{prefix}{}", created.unwrap().1)
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
