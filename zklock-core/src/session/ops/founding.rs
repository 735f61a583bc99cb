//! Creates a queue together with its first contender.

use zookeeper_client as zk;

use crate::error::Permission;
use crate::queue::acquisition::Node;
use crate::session::clock::Ack;
use crate::session::fault::Fault;

use super::request::Transaction;
use super::{Newcomer, Ops};

/// The reason why a queue was not created with its contender.
#[derive(Debug)]
pub(crate) enum Unfounded {
    /// The queue exists.
    Exists,
    /// The node above the queue is missing.
    NoParent,
    /// This client may not create nodes below this parent.
    Forbidden,
    /// This client may not do so anywhere, or the server does not know the requests.
    Unsupported,
    /// The paths are too long for a transaction.
    TooLong,
    Failed(Fault),
}

impl Ops {
    /// Creates a queue and its first contender, whose data has the version 1 then.
    ///
    /// The first child of a new node has the number 0, so that the third step can name it. Its stat has the zxid and the
    /// owner, which servers before 3.7.2 and 3.8.2 leave out of the answer to a create (ZOOKEEPER-4026, ZOOKEEPER-4667).
    pub(crate) async fn found(&self, newcomer: Newcomer<'_>) -> Result<Node, Unfounded> {
        let client = self.client().await.map_err(Unfounded::Failed)?;
        let (acls, prefix) = (self.acls.own.acls(), newcomer.path());
        let first = format!("{prefix}{:010}", 0);
        let mut transaction = Transaction::new(&client);
        let steps = transaction
            .create(newcomer.dir, b"", (zk::CreateMode::Container, acls))
            .and_then(|()| transaction.create(&prefix, b"", (zk::CreateMode::EphemeralSequential, acls)))
            .and_then(|()| transaction.set_data(&first, newcomer.data, None));
        steps.map_err(|error| Unfounded::Failed(error.into()))?;
        let mut writer = transaction.checked().map_err(|_| Unfounded::TooLong)?;
        let sent = self.clock.now();
        let committed = writer.commit().await;
        let refused = committed.as_ref().err().and_then(refusal);
        let committed = committed.map_err(|error| Fault::of_transaction(error, |_| Permission::Create));
        match (self.note(Ack::Write, sent, committed), refused) {
            (_, Some(refused)) => Err(refused),
            (Err(fault), None) => Err(Unfounded::Failed(fault)),
            (Ok(results), None) => match &results[..] {
                [_, _, zk::MultiWriteResult::SetData { stat }] => {
                    let name = first[newcomer.dir.len() + 1..].to_owned();
                    Ok(Node { name, zxid: stat.czxid, owner: stat.ephemeral_owner })
                }
                _ => Err(Unfounded::Failed(Fault::Unknown("the server answered another transaction".into()))),
            },
        }
    }
}

/// Returns the definite refusal that an error of the transaction means.
fn refusal(error: &zk::MultiWriteError) -> Option<Unfounded> {
    let zk::MultiWriteError::OperationFailed { index, source } = error else { return None };
    match (index, source) {
        (0, zk::Error::NodeExists) => Some(Unfounded::Exists),
        (0, zk::Error::NoNode) => Some(Unfounded::NoParent),
        (0, zk::Error::NoAuth) => Some(Unfounded::Forbidden),
        // The queue, or the contender, has the access control list of this client's nodes.
        (_, zk::Error::NoAuth | zk::Error::Unimplemented) => Some(Unfounded::Unsupported),
        _ => None,
    }
}
