//! The entry that a call looks for among its holds.

use crate::client::{Client, ClientId};

use super::door::Door;
use super::entry::Entry;

/// The entry that a call looks for among its holds: into a lock of a client.
#[derive(Clone, Copy)]
pub(crate) struct Sought<'a> {
    pub(super) client: ClientId,
    /// The path of the lock below the namespace of the client. A path that is not valid is found nowhere.
    pub(super) path: &'a str,
    pub(super) entry: Entry,
}

impl<'a> Sought<'a> {
    #[inline]
    pub(crate) fn new(client: ClientId, path: &'a str, entry: Entry) -> Self {
        Self { client, path, entry }
    }

    #[inline]
    pub(super) fn at(client: &Client, door: &'a Door) -> Self {
        Self::new(client.id(), door.path.relative(), door.entry)
    }
}
