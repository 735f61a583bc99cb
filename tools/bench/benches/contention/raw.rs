//! The requests of a lock without the lock.

use futures_util::{StreamExt, stream};
use zookeeper_client::{Acls, Client, CreateMode, Error};

use crate::Failure;
use crate::entrant::{Body, Entered};

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
    // The server deletes containers some time after their last child.
    let container = CreateMode::Container.with_acls(Acls::anyone_all());
    clients[0].mkdir(root, &container).await?;
    Ok(clients)
}

/// Deletes the nodes of all tasks, or of all paths that were used once, which would burden the next measurement.
pub(crate) async fn delete_children(client: &Client, root: &str) -> Result<(), Failure> {
    let names = client.list_children(root).await?;
    let mut deletes = stream::iter(names)
        .map(async |name| client.delete(&format!("{root}/{name}"), None).await)
        .buffer_unordered(AT_ONCE);
    while let Some(deleted) = deletes.next().await {
        match deleted {
            // The server deletes containers, too.
            Ok(()) | Err(Error::NoNode) => {}
            Err(error) => return Err(error.into()),
        }
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

/// The number of requests under way.
const AT_ONCE: usize = 256;
