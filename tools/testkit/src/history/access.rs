//! The protection of resources, and their answers to writes.

use serde::{Deserialize, Serialize};

/// The protection of a resource against writers that have lost the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Way {
    /// The resource takes every write.
    Plain,
    /// The resource refuses tokens that are older than the latest one it has seen.
    Fenced,
    /// The write is a transaction of ZooKeeper that checks the lock's node.
    Guarded,
}

/// The answer of a resource to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The write was applied between its beginning and its end.
    Applied,
    /// The write was not applied, and never will be.
    Refused,
    /// The write may have been applied, or may be applied at any later time.
    Unknown,
}
