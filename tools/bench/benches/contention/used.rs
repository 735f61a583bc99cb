//! The nodes of paths that were used once, which would otherwise stay on the server and burden the next measurement.

use futures_util::StreamExt;
use futures_util::stream;
use zookeeper_client::{Client, Error};

use crate::Failure;

/// Deletes the nodes below this one, which have no children any more.
pub(crate) async fn delete(server: &str, parent: &str) -> Result<(), Failure> {
    let client = Client::connect(server).await?;
    let names = client.list_children(parent).await?;
    let mut deletes = stream::iter(names)
        .map(|name| {
            let (client, path) = (&client, format!("{parent}/{name}"));
            async move { client.delete(&path, None).await }
        })
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

/// The number of requests under way.
const AT_ONCE: usize = 256;
