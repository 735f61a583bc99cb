//! The lengths of requests that write, which are checked before anything is sent.
//!
//! A server closes the connection of a client that sends a longer request than its `jute.maxbuffer`. All locks of the
//! session are suspended then. A request that only reads has one path, whose length is bounded, and always fits.

use zookeeper_client as zk;

use crate::error::Refusal;
use crate::session::request_error::RequestError;

/// Refuses a request that creates a node and is longer than servers accept.
pub(super) fn check_create(path: &str, data: &[u8], acls: zk::Acls<'_>) -> Result<(), RequestError> {
    check(HEADER + create(path, data, acls))
}

/// Refuses a request that sets the data of a node and is longer than servers accept.
pub(super) fn check_set_data(path: &str, data: &[u8]) -> Result<(), RequestError> {
    check(HEADER + set_data(path, data))
}

/// Checks the length of a request in bytes, without the number that tells it to the server.
fn check(length: usize) -> Result<(), RequestError> {
    if length <= LONGEST {
        return Ok(());
    }
    let reason = format!(
        "it has {length} bytes with its paths and data, and servers accept at most {LONGEST} (`jute.maxbuffer`)"
    );
    Err(RequestError::Refused(Refusal::Other(reason)))
}

/// A transaction whose length is known.
pub(super) struct Transaction<'a> {
    writer: zk::MultiWriter<'a>,
    length: usize,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(client: &'a zk::Client) -> Self {
        // One more operation ends the list of them.
        Self { writer: client.new_multi_writer(), length: HEADER + OPERATION }
    }

    pub(super) fn check_exists(&mut self, path: &str) -> Result<(), zk::Error> {
        self.length += OPERATION + versioned(path);
        self.writer.add_check_version(path, -1)
    }

    pub(super) fn create(
        &mut self,
        path: &str,
        data: &[u8],
        (mode, acls): (zk::CreateMode, zk::Acls<'_>),
    ) -> Result<(), zk::Error> {
        self.length += OPERATION + create(path, data, acls);
        self.writer.add_create(path, data, &mode.with_acls(acls))
    }

    pub(super) fn set_data(
        &mut self,
        path: &str,
        data: &[u8],
        version: Option<i32>,
    ) -> Result<(), zk::Error> {
        self.length += OPERATION + set_data(path, data);
        self.writer.add_set_data(path, data, version)
    }

    pub(super) fn delete(&mut self, path: &str, version: Option<i32>) -> Result<(), zk::Error> {
        self.length += OPERATION + versioned(path);
        self.writer.add_delete(path, version)
    }

    /// Returns the transaction to be committed, unless it is too long.
    pub(super) fn checked(self) -> Result<zk::MultiWriter<'a>, RequestError> {
        check(self.length).map(|()| self.writer)
    }
}

fn create(path: &str, data: &[u8], acls: zk::Acls<'_>) -> usize {
    let entry = |acl: &zk::Acl| NUMBER + field(acl.scheme()) + field(acl.id());
    field(path) + field(data) + NUMBER + acls.iter().map(entry).sum::<usize>() + NUMBER
}

fn set_data(path: &str, data: &[u8]) -> usize {
    versioned(path) + field(data)
}

/// Returns the length of a path and a version.
fn versioned(path: &str) -> usize {
    field(path) + NUMBER
}

/// Returns the length of a text or of bytes, with the number in front that tells it.
fn field(content: impl AsRef<[u8]>) -> usize {
    NUMBER + content.as_ref().len()
}

/// The length of a number.
const NUMBER: usize = 4;
/// The length of the number and the kind of a request.
const HEADER: usize = 2 * NUMBER;
/// The length of what stands in front of each operation of a transaction.
const OPERATION: usize = 2 * NUMBER + 1;
/// The longest request that servers accept by default.
const LONGEST: usize = (1 << 20) - 1;
