//! The requests of a lock without the lock.

use zookeeper_client::{Acls, Client, CreateMode};

use crate::Failure;
use crate::body::{Body, Entered};
use crate::parents::create_with_parents;

/// A session, and a node that exists.
#[derive(Clone)]
pub(crate) struct Raw {
    client: Client,
    parent: String,
}

/// Opens sessions, and creates the node at `root` and its parents.
pub(crate) async fn connect(server: &str, root: &str, sessions: u32) -> Result<Vec<Client>, Failure> {
    let mut clients = Vec::new();
    for _ in 0..sessions {
        clients.push(Client::connect(server).await?);
    }
    create_with_parents(&clients[0], root).await?;
    Ok(clients)
}

/// Deletes the nodes of all tasks.
pub(crate) async fn delete_children(client: &Client, root: &str) -> Result<(), Failure> {
    for child in client.list_children(root).await? {
        client.delete(&format!("{root}/{child}"), None).await?;
    }
    Ok(())
}

impl Raw {
    pub(crate) async fn new(client: Client, parent: String) -> Result<Self, Failure> {
        // A container could be deleted between two operations.
        client.create(&parent, b"", &CreateMode::Persistent.with_acls(Acls::anyone_all())).await?;
        Ok(Self { client, parent })
    }

    pub(crate) async fn operate(&self, body: &Body) -> Result<Entered, Failure> {
        let prefix = format!("{}/node-", self.parent);
        let mode = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
        let (_, sequence) = self.client.create(&prefix, b"", &mode).await?;
        let entered = body.run().await;
        self.client.delete(&format!("{prefix}{sequence}"), None).await?;
        Ok(entered)
    }
}
