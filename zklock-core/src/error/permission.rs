//! The permissions of ZooKeeper's access control lists.

use std::fmt;

/// A permission that a client lacks, in the terms of ZooKeeper's access control lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Permission {
    /// `r`: to read the data of a node, and to list its children.
    Read,
    /// `w`: to write the data of a node.
    Write,
    /// `c`: to create children of a node.
    Create,
    /// `d`: to delete children of a node.
    Delete,
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read nodes",
            Self::Write => "write nodes",
            Self::Create => "create nodes",
            Self::Delete => "delete nodes",
        })
    }
}
