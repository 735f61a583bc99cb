//! The schemes that zklock does not use, on `zookeeper-client` alone.
//!
//! They are those of textbooks: a failed request ends the measurement.

use zookeeper_client::{Acls, Client, CreateMode, Error, OneshotWatcher};

use crate::program::Failure;

/// The node that a contender creates.
#[derive(Clone, Copy)]
pub(crate) enum Node {
    /// The same one for all contenders.
    Same,
    /// One of its own, with a number.
    Sequential,
}

/// A held lock.
pub(crate) struct Held {
    path: String,
    /// The watch that the holder did not need. It fires by the deletion at the latest. Before that, its drop would
    /// cost a request.
    watch: Option<OneshotWatcher>,
}

impl Node {
    pub(crate) async fn acquire(self, client: &Client, lock: &str) -> Result<Held, Failure> {
        match self {
            Self::Same => race(client, format!("{lock}/node")).await,
            Self::Sequential => queue(client, lock).await,
        }
    }
}

impl Held {
    pub(crate) async fn release(self, client: &Client) -> Result<(), Failure> {
        client.delete(&self.path, None).await?;
        drop(self.watch);
        Ok(())
    }
}

async fn race(client: &Client, path: String) -> Result<Held, Failure> {
    let mode = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
    let mut watch = None;
    loop {
        match client.create(&path, b"", &mode).await {
            Ok(_) => return Ok(Held { path, watch }),
            Err(Error::NodeExists) => {}
            Err(error) => return Err(error.into()),
        }
        let (stat, next) = client.check_and_watch_stat(&path).await?;
        watch = if stat.is_some() {
            next.changed().await;
            None
        } else {
            // It fires at the next creation.
            Some(next)
        };
    }
}

async fn queue(client: &Client, lock: &str) -> Result<Held, Failure> {
    let prefix = format!("{lock}/node-");
    let mode = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    let (_, sequence) = client.create(&prefix, b"", &mode).await?;
    let path = format!("{prefix}{sequence}");
    loop {
        let (children, watch) = client.list_and_watch_children(lock).await?;
        let first = children.iter().min().ok_or("the node of a contender is gone")?;
        if path.ends_with(first.as_str()) {
            return Ok(Held { path, watch: Some(watch) });
        }
        watch.changed().await;
    }
}
