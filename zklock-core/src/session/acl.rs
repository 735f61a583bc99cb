//! The access control lists of the nodes that a session creates.

use std::sync::Arc;

use zookeeper_client::Acls;

pub(crate) use zookeeper_client::{Acl as Entry, AuthId, Permission};

/// An access control list that has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeAcl(Arc<[Entry]>);

impl NodeAcl {
    pub(crate) fn new(acls: Vec<Entry>) -> Self {
        Self(acls.into())
    }

    pub(super) fn acls(&self) -> Acls<'_> {
        Acls::new(&self.0)
    }
}

/// The checked lists of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeAcls {
    /// The list of the nodes above a lock.
    pub(crate) parents: NodeAcl,
    /// The list of the nodes of locks, those of contenders, and those with data.
    pub(crate) own: NodeAcl,
}

impl Default for NodeAcl {
    fn default() -> Self {
        Self(Arc::new([Entry::new(Permission::ALL, AuthId::anyone())]))
    }
}
