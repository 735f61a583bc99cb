//! Asks a server whether it knows the user of a connection.

use zookeeper_client as zk;

/// The answer of a server to the question whether it knows the user of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Known,
    /// The server has no users. It accepts any login, and ignores it.
    Unknown,
    /// The server does not know the question, which ZooKeeper 3.7 introduced, and closes the connection.
    Untold,
}

pub(super) async fn ask(client: &zk::Client) -> Result<Standing, zk::Error> {
    match client.list_auth_users().await {
        Ok(users) if users.iter().any(|user| user.scheme() == SCHEME) => Ok(Standing::Known),
        Ok(_) => Ok(Standing::Unknown),
        Err(zk::Error::Unimplemented) => Ok(Standing::Untold),
        Err(error) => Err(error),
    }
}

/// The scheme of users who have logged in.
const SCHEME: &str = "sasl";
