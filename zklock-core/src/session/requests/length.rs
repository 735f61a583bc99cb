//! The lengths of requests that write, which are checked before anything is sent.
//!
//! A server closes the connection of a client that sends a longer request than its `jute.maxbuffer`. All locks of the
//! session are suspended then. A request that only reads has one path, whose length is bounded, and always fits.

use zookeeper_client as zk;

use crate::error::{Permission, Refusal};
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

/// One step of a transaction.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    /// Checks that a node exists.
    Check(&'a str),
    Create(&'a str, &'a [u8], zk::CreateMode, zk::Acls<'a>),
    SetData(&'a str, &'a [u8], Option<i32>),
    Delete(&'a str, Option<i32>),
}

impl Step<'_> {
    fn length(self) -> usize {
        match self {
            Self::Check(path) | Self::Delete(path, _) => versioned(path),
            Self::Create(path, data, _, acls) => create(path, data, acls),
            Self::SetData(path, data, _) => set_data(path, data),
        }
    }

    fn add_to(self, writer: &mut zk::MultiWriter<'_>) -> Result<(), zk::Error> {
        match self {
            Self::Check(path) => writer.add_check_version(path, -1),
            Self::Create(path, data, mode, acls) => writer.add_create(path, data, &mode.with_acls(acls)),
            Self::SetData(path, data, version) => writer.add_set_data(path, data, version),
            Self::Delete(path, version) => writer.add_delete(path, version),
        }
    }

    /// Returns the permission that the step needs.
    pub(super) fn permission(self) -> Permission {
        match self {
            Self::Check(_) => Permission::Read,
            Self::Create(..) => Permission::Create,
            Self::SetData(..) => Permission::Write,
            Self::Delete(..) => Permission::Delete,
        }
    }
}

/// Returns a transaction of these steps, unless it is longer than servers accept.
pub(super) fn transaction<'a>(
    client: &'a zk::Client,
    steps: &[Step<'_>],
) -> Result<zk::MultiWriter<'a>, RequestError> {
    // One more operation ends the list of them.
    check(HEADER + OPERATION + steps.iter().map(|step| OPERATION + step.length()).sum::<usize>())?;
    let mut writer = client.new_multi_writer();
    steps.iter().try_for_each(|step| step.add_to(&mut writer))?;
    Ok(writer)
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
