//! The operations of multis and multi-reads, and their results.

use bytes::Bytes;

use super::{
    CheckVersion, Create, Delete, ErrorCode, Malformed, Opcode, Reader, Record, SetData, Stat, Writer,
};

/// One operation of a multi, or of a multi-read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// Creates a node; its result has no stat.
    Create(Create),
    /// Creates a node.
    Create2(Create),
    /// Creates a container.
    CreateContainer(Create),
    /// Creates a node with a time to live.
    CreateTtl {
        /// The node.
        create: Create,
        /// The time to live after the last change, in milliseconds.
        ttl: i64,
    },
    /// Deletes a node.
    Delete(Delete),
    /// Replaces data.
    SetData(SetData),
    /// Checks a version.
    Check(CheckVersion),
    /// Reads data; allowed only in a multi-read.
    GetData {
        /// The node.
        path: String,
        /// Whether to set a data watch.
        watch: bool,
    },
    /// Lists children; allowed only in a multi-read.
    GetChildren {
        /// The node.
        path: String,
        /// Whether to set a child watch.
        watch: bool,
    },
}

impl Op {
    /// Returns whether the operation belongs in a multi-read rather than in a multi.
    pub fn is_read(&self) -> bool {
        matches!(self, Self::GetData { .. } | Self::GetChildren { .. })
    }

    fn opcode(&self) -> Opcode {
        match self {
            Self::Create(_) => Opcode::CREATE,
            Self::Create2(_) => Opcode::CREATE2,
            Self::CreateContainer(_) => Opcode::CREATE_CONTAINER,
            Self::CreateTtl { .. } => Opcode::CREATE_TTL,
            Self::Delete(_) => Opcode::DELETE,
            Self::SetData(_) => Opcode::SET_DATA,
            Self::Check(_) => Opcode::CHECK,
            Self::GetData { .. } => Opcode::GET_DATA,
            Self::GetChildren { .. } => Opcode::GET_CHILDREN,
        }
    }

    fn read(opcode: Opcode, reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(match opcode {
            Opcode::CREATE => Self::Create(Create::read(reader)?),
            Opcode::CREATE2 => Self::Create2(Create::read(reader)?),
            Opcode::CREATE_CONTAINER => Self::CreateContainer(Create::read(reader)?),
            Opcode::CREATE_TTL => Self::CreateTtl { create: Create::read(reader)?, ttl: reader.long()? },
            Opcode::DELETE => Self::Delete(Delete::read(reader)?),
            Opcode::SET_DATA => Self::SetData(SetData::read(reader)?),
            Opcode::CHECK => Self::Check(CheckVersion::read(reader)?),
            Opcode::GET_DATA => Self::GetData { path: reader.string()?, watch: reader.boolean()? },
            Opcode::GET_CHILDREN => Self::GetChildren { path: reader.string()?, watch: reader.boolean()? },
            Opcode(value) => return Err(Malformed::Value { what: "operation of a multi", value }),
        })
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Create(create) | Self::Create2(create) | Self::CreateContainer(create) => {
                create.write(writer);
            }
            Self::CreateTtl { create, ttl } => {
                create.write(writer);
                writer.long(*ttl);
            }
            Self::Delete(delete) => delete.write(writer),
            Self::SetData(set) => set.write(writer),
            Self::Check(check) => check.write(writer),
            Self::GetData { path, watch } | Self::GetChildren { path, watch } => {
                writer.string(path);
                writer.boolean(*watch);
            }
        }
    }
}

/// The result of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpResult {
    /// A node was created at this path.
    Created(String),
    /// A node was created at this path, by one of the operations that return the stat.
    Created2 {
        /// The operation that created the node.
        opcode: Opcode,
        /// The node's path.
        path: String,
        /// The node's stat.
        stat: Stat,
    },
    /// A node was deleted.
    Deleted,
    /// Data was replaced.
    DataSet(Stat),
    /// A version was the expected one.
    Checked,
    /// Data was read.
    Data {
        /// The data.
        data: Option<Bytes>,
        /// The node's stat.
        stat: Stat,
    },
    /// Children were listed.
    Children(Vec<String>),
    /// The operation failed, or it was undone or not attempted because another one failed.
    Failed(ErrorCode),
}

impl OpResult {
    fn opcode(&self) -> Opcode {
        match self {
            Self::Created(_) => Opcode::CREATE,
            Self::Created2 { opcode, .. } => *opcode,
            Self::Deleted => Opcode::DELETE,
            Self::DataSet(_) => Opcode::SET_DATA,
            Self::Checked => Opcode::CHECK,
            Self::Data { .. } => Opcode::GET_DATA,
            Self::Children(_) => Opcode::GET_CHILDREN,
            Self::Failed(_) => Opcode::ERROR,
        }
    }

    fn read(opcode: Opcode, reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(match opcode {
            Opcode::CREATE => Self::Created(reader.string()?),
            Opcode::CREATE2 | Opcode::CREATE_CONTAINER | Opcode::CREATE_TTL => {
                Self::Created2 { opcode, path: reader.string()?, stat: Stat::read(reader)? }
            }
            Opcode::DELETE => Self::Deleted,
            Opcode::SET_DATA => Self::DataSet(Stat::read(reader)?),
            Opcode::CHECK => Self::Checked,
            Opcode::GET_DATA => Self::Data { data: reader.buffer()?, stat: Stat::read(reader)? },
            Opcode::GET_CHILDREN => Self::Children(reader.vector(Reader::string)?),
            Opcode::ERROR => Self::Failed(ErrorCode(reader.int()?)),
            Opcode(value) => return Err(Malformed::Value { what: "result of a multi", value }),
        })
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Created(path) => writer.string(path),
            Self::Created2 { path, stat, .. } => {
                writer.string(path);
                stat.write(writer);
            }
            Self::DataSet(stat) => stat.write(writer),
            Self::Data { data, stat } => {
                writer.buffer(data.as_deref());
                stat.write(writer);
            }
            Self::Children(names) => writer.vector(names, |writer, name| writer.string(name)),
            Self::Failed(error) => writer.int(error.0),
            Self::Deleted | Self::Checked => {}
        }
    }
}

/// The header in front of each operation and each result, and at the end of the list.
struct MultiHeader {
    opcode: Opcode,
    done: bool,
    error: ErrorCode,
}

impl MultiHeader {
    const END: Self = Self { opcode: Opcode::ERROR, done: true, error: ErrorCode(-1) };
}

impl Record for MultiHeader {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(Self { opcode: Opcode(reader.int()?), done: reader.boolean()?, error: ErrorCode(reader.int()?) })
    }

    fn write(&self, writer: &mut Writer) {
        writer.int(self.opcode.0);
        writer.boolean(self.done);
        writer.int(self.error.0);
    }
}

/// Decodes elements up to the header that ends the list.
fn read_all<T>(
    reader: &mut Reader,
    element: impl Fn(Opcode, &mut Reader) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut all = Vec::new();
    loop {
        match MultiHeader::read(reader)? {
            MultiHeader { done: true, .. } => return Ok(all),
            header => all.push(element(header.opcode, reader)?),
        }
    }
}

pub(super) fn read_ops(reader: &mut Reader) -> Result<Vec<Op>, Malformed> {
    read_all(reader, Op::read)
}

pub(super) fn write_ops(ops: &[Op], writer: &mut Writer) {
    for op in ops {
        MultiHeader { opcode: op.opcode(), done: false, error: ErrorCode(-1) }.write(writer);
        op.write(writer);
    }
    MultiHeader::END.write(writer);
}

pub(super) fn read_results(reader: &mut Reader) -> Result<Vec<OpResult>, Malformed> {
    read_all(reader, OpResult::read)
}

pub(super) fn write_results(results: &[OpResult], writer: &mut Writer) {
    for result in results {
        let error = match result {
            OpResult::Failed(error) => *error,
            _ => ErrorCode::OK,
        };
        MultiHeader { opcode: result.opcode(), done: false, error }.write(writer);
        result.write(writer);
    }
    MultiHeader::END.write(writer);
}
