//! The permissions of this client in its namespace, and the kinds of nodes there.

use zookeeper_client as zk;

use super::question::Question;

/// The findings about the namespace.
#[derive(Clone, Debug)]
pub(super) struct Namespace {
    /// The nearest node of the namespace that exists. It decides who may create the rest.
    pub(super) node: String,
    pub(super) create: Permission,
    pub(super) read: Permission,
    pub(super) delete: Permission,
    pub(super) containers: Containers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    Granted,
    Denied,
    /// It cannot be tried without the permission to create.
    Unknown,
}

/// Whether a container could be created in the namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Containers {
    Supported,
    Denied,
    Refused(String),
}

/// The end of a transaction that fails on purpose.
enum Failed {
    /// In the last of its requests, as it should.
    Last,
    Denied(usize),
    /// There is no such parent.
    Missing,
    Refused(String),
}

/// Tries each permission, in transactions that fail afterwards, so that nothing is left of them.
pub(super) async fn look(client: &zk::Client, root: &str, question: Question) -> Result<Namespace, String> {
    let parent = existing(client, root, question).await?;
    let node = if parent.is_empty() { "/" } else { &parent };
    let read = match question.ask(async { Ok::<_, zk::Error>(client.list_children(node).await) }).await? {
        Ok(_) => Permission::Granted,
        Err(zk::Error::NoAuth) => Permission::Denied,
        Err(error) => return Err(error.to_string()),
    };
    let (create, delete) = match attempt(client, &parent, zk::CreateMode::Persistent, question).await? {
        Failed::Last => (Permission::Granted, Permission::Granted),
        Failed::Denied(0) => (Permission::Denied, Permission::Unknown),
        Failed::Denied(_) => (Permission::Granted, Permission::Denied),
        Failed::Missing => return Err(gone(node)),
        Failed::Refused(reason) => return Err(reason),
    };
    let containers = match attempt(client, &parent, zk::CreateMode::Container, question).await? {
        Failed::Denied(0) => Containers::Denied,
        Failed::Last | Failed::Denied(_) => Containers::Supported,
        Failed::Missing => return Err(gone(node)),
        Failed::Refused(reason) => Containers::Refused(reason),
    };
    Ok(Namespace { node: node.to_owned(), create, read, delete, containers })
}

async fn existing(client: &zk::Client, root: &str, question: Question) -> Result<String, String> {
    let mut parent = root;
    while !parent.is_empty() {
        let found = question.ask(async { Ok::<_, zk::Error>(client.check_stat(parent).await) }).await?;
        let exists = match found {
            Ok(found) => found.is_some(),
            // Later servers do not tell it to a client that may not read.
            Err(zk::Error::NoAuth) => {
                let tried = attempt(client, parent, zk::CreateMode::Persistent, question).await?;
                !matches!(tried, Failed::Missing)
            }
            Err(error) => return Err(error.to_string()),
        };
        if exists {
            break;
        }
        parent = parent.rsplit_once('/').map_or("", |(above, _)| above);
    }
    Ok(parent.to_owned())
}

/// Creates a node, deletes it, and fails.
async fn attempt(
    client: &zk::Client,
    parent: &str,
    mode: zk::CreateMode,
    question: Question,
) -> Result<Failed, String> {
    let options = mode.with_acls(zk::Acls::anyone_all());
    let node = format!("{parent}/{NAME}");
    let mut writer = client.new_multi_writer();
    let added = writer.add_create(&node, b"", &options);
    let added = added.and_then(|()| writer.add_delete(&node, None));
    // The node is gone.
    let added = added.and_then(|()| writer.add_check_version(&node, -1));
    added.map_err(|error| error.to_string())?;
    let committed = question.ask(async { Ok::<_, zk::Error>(writer.commit().await) }).await?;
    match committed {
        Err(zk::MultiWriteError::OperationFailed { index: 2, .. }) => Ok(Failed::Last),
        Err(zk::MultiWriteError::OperationFailed { index, source: zk::Error::NoAuth }) => {
            Ok(Failed::Denied(index))
        }
        Err(zk::MultiWriteError::OperationFailed { index: 0, source: zk::Error::NoNode }) => {
            Ok(Failed::Missing)
        }
        Err(zk::MultiWriteError::OperationFailed { source, .. }) => Ok(Failed::Refused(source.to_string())),
        Err(error) => Err(zk::Error::from(error).to_string()),
        Ok(_) => Ok(Failed::Refused("a transaction that must fail was applied".to_owned())),
    }
}

fn gone(node: &str) -> String {
    format!("{node} was deleted meanwhile")
}

const NAME: &str = "zklock-doctor";
