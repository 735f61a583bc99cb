//! Requests whose path is null.

use super::{Malformed, Opcode, Reader, Record, SetAcl, SetData, WatcherType, Writer};

/// A request whose path is null, which client libraries do not send.
///
/// A server answers only these requests. It answers any other request with a null path as one that it cannot
/// decode, and so does [`Request::read`](super::Request::read).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NullPath {
    /// [`Opcode::SET_DATA`], whose data and version do not matter.
    SetData,
    /// [`Opcode::SET_ACL`], whose ACL and version do not matter.
    SetAcl,
    /// [`Opcode::SYNC`], answered by a null path.
    Sync,
    /// [`Opcode::CHECK`], which servers support only within a multi; the version does not matter.
    Check,
    /// [`Opcode::ADD_WATCH`], with the mode of the watch.
    AddWatch(i32),
    /// [`Opcode::CHECK_WATCHES`].
    CheckWatches(WatcherType),
    /// [`Opcode::REMOVE_WATCHES`].
    RemoveWatches(WatcherType),
    /// [`Opcode::GET_EPHEMERALS`], answered by all ephemeral nodes of the session.
    GetEphemerals,
}

impl NullPath {
    /// Returns the opcode for the header of this request.
    pub fn opcode(self) -> Opcode {
        match self {
            Self::SetData => Opcode::SET_DATA,
            Self::SetAcl => Opcode::SET_ACL,
            Self::Sync => Opcode::SYNC,
            Self::Check => Opcode::CHECK,
            Self::AddWatch(_) => Opcode::ADD_WATCH,
            Self::CheckWatches(_) => Opcode::CHECK_WATCHES,
            Self::RemoveWatches(_) => Opcode::REMOVE_WATCHES,
            Self::GetEphemerals => Opcode::GET_EPHEMERALS,
        }
    }

    /// Decodes a request after its header if its path is null and a server answers it. Otherwise it returns
    /// `None` and reads nothing.
    pub(super) fn read(opcode: Opcode, reader: &mut Reader) -> Result<Option<Self>, Malformed> {
        let mut after = reader.clone();
        if after.int() != Ok(-1) {
            return Ok(None);
        }
        let request = match opcode {
            Opcode::SET_DATA => {
                SetData::read_after_path(String::new(), &mut after)?;
                Self::SetData
            }
            Opcode::SET_ACL => {
                SetAcl::read_after_path(String::new(), &mut after)?;
                Self::SetAcl
            }
            Opcode::SYNC => Self::Sync,
            Opcode::CHECK => {
                after.int()?;
                Self::Check
            }
            Opcode::ADD_WATCH => Self::AddWatch(after.int()?),
            Opcode::CHECK_WATCHES => Self::CheckWatches(WatcherType::read(&mut after)?),
            Opcode::REMOVE_WATCHES => Self::RemoveWatches(WatcherType::read(&mut after)?),
            Opcode::GET_EPHEMERALS => Self::GetEphemerals,
            _ => return Ok(None),
        };
        *reader = after;
        Ok(Some(request))
    }

    pub(super) fn write(self, writer: &mut Writer) {
        writer.nullable_string(None);
        match self {
            Self::SetData => {
                writer.buffer(None);
                writer.int(ANY_VERSION);
            }
            Self::SetAcl => {
                writer.vector::<()>(&[], |_, ()| {});
                writer.int(ANY_VERSION);
            }
            Self::Check => writer.int(ANY_VERSION),
            Self::AddWatch(mode) => writer.int(mode),
            Self::CheckWatches(kind) | Self::RemoveWatches(kind) => kind.write(writer),
            Self::Sync | Self::GetEphemerals => {}
        }
    }
}

const ANY_VERSION: i32 = -1;
