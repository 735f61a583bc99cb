//! Paths that are used once.

use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::StreamExt;
use futures_util::stream;
use zookeeper_client::{Acls, Client, CreateMode};

use crate::Failure;
use crate::parents::create_with_parents;

/// The nodes of locks that the measured sessions have never used.
///
/// They are persistent, because a server may delete a container before its path is used.
pub(crate) struct Fresh {
    parent: String,
    count: u32,
    next: AtomicU32,
}

impl Fresh {
    pub(crate) async fn create(server: &str, namespace: &str, count: u32) -> Result<Self, Failure> {
        let fresh = Self { parent: format!("{namespace}/locks"), count, next: AtomicU32::new(0) };
        let client = Client::connect(server).await?;
        create_with_parents(&client, &fresh.parent).await?;
        let mode = CreateMode::Persistent.with_acls(Acls::anyone_all());
        let mut creates = stream::iter(0..count)
            .map(|number| {
                let (client, mode, path) = (&client, &mode, fresh.path(number));
                async move { client.create(&path, b"", mode).await.map(drop) }
            })
            .buffer_unordered(AT_ONCE);
        while let Some(created) = creates.next().await {
            created?;
        }
        drop(creates);
        Ok(fresh)
    }

    /// Returns the name of the next lock, or `None` if all have been used.
    pub(crate) fn next(&self) -> Option<String> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then(|| name(number))
    }

    /// Deletes the nodes, which would otherwise stay on the server.
    pub(crate) async fn delete(&self, server: &str) -> Result<(), Failure> {
        let client = Client::connect(server).await?;
        let mut deletes = stream::iter(0..self.count)
            .map(|number| {
                let (client, path) = (&client, self.path(number));
                async move { client.delete(&path, None).await }
            })
            .buffer_unordered(AT_ONCE);
        while let Some(deleted) = deletes.next().await {
            deleted?;
        }
        Ok(())
    }

    fn path(&self, number: u32) -> String {
        format!("{}/{}", self.parent, name(number))
    }
}

fn name(number: u32) -> String {
    format!("fresh-{number}")
}

/// The number of requests under way.
const AT_ONCE: usize = 256;
