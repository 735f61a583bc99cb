//! The nodes above those that a measurement uses.

use zookeeper_client::{Acls, Client, CreateMode, Error};

use crate::Failure;

/// Creates containers, which the server deletes some time after their last child.
pub(crate) async fn create_with_parents(client: &Client, path: &str) -> Result<(), Failure> {
    let ends = path.match_indices('/').map(|(end, _)| end).skip(1).chain([path.len()]);
    for end in ends {
        match client.create(&path[..end], b"", &CreateMode::Container.with_acls(Acls::anyone_all())).await {
            Ok(_) | Err(Error::NodeExists) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
