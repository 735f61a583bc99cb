//! The operations of multis and multi-reads, and their results.

use bytes::Bytes;

use super::jute::{records, variants};
use super::{ErrorCode, Malformed, Opcode, Reader, Record, Request, Stat, Writer};

/// One operation of a multi: a create, a delete, [`Request::SetData`] or [`Request::Check`]; or one of a multi-read:
/// [`Request::GetData`] or [`Request::GetChildren`].
pub type Op = Request;

const OPS: [Opcode; 9] = [
    Opcode::CREATE,
    Opcode::CREATE2,
    Opcode::CREATE_CONTAINER,
    Opcode::CREATE_TTL,
    Opcode::DELETE,
    Opcode::SET_DATA,
    Opcode::CHECK,
    Opcode::GET_DATA,
    Opcode::GET_CHILDREN,
];

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

variants!(OpResult {
    CREATE => Created(path),
    DELETE => Deleted,
    SET_DATA => DataSet(stat),
    CHECK => Checked,
    GET_DATA => Data { data, stat },
    GET_CHILDREN => Children(names),
    ERROR => Failed(error),
});

/// The header in front of each operation and each result, and at the end of the list.
struct MultiHeader {
    opcode: Opcode,
    done: bool,
    error: ErrorCode,
}

records!(MultiHeader { opcode, done, error });

impl MultiHeader {
    const END: Self = Self { opcode: Opcode::ERROR, done: true, error: ErrorCode(-1) };
}

impl Record for Vec<Op> {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        read_all(reader, "operation of a multi", |opcode, reader| {
            OPS.contains(&opcode).then(|| Op::read(opcode, reader)).transpose()
        })
    }

    fn write(&self, writer: &mut Writer) {
        for op in self {
            MultiHeader { opcode: op.opcode(), done: false, error: ErrorCode(-1) }.write(writer);
            op.write(writer);
        }
        MultiHeader::END.write(writer);
    }
}

impl Record for Vec<OpResult> {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        read_all(reader, "result of a multi", |opcode, reader| match opcode {
            Opcode::CREATE2 | Opcode::CREATE_CONTAINER | Opcode::CREATE_TTL => {
                let (path, stat) = (Record::read(reader)?, Record::read(reader)?);
                Ok(Some(OpResult::Created2 { opcode, path, stat }))
            }
            _ => OpResult::read_listed(opcode, reader),
        })
    }

    fn write(&self, writer: &mut Writer) {
        for result in self {
            let (opcode, error) = match result {
                OpResult::Created2 { opcode, .. } => (*opcode, ErrorCode::OK),
                OpResult::Failed(error) => (Opcode::ERROR, *error),
                // All others are listed.
                _ => (result.listed_opcode().unwrap_or(Opcode::ERROR), ErrorCode::OK),
            };
            MultiHeader { opcode, done: false, error }.write(writer);
            match result {
                OpResult::Created2 { path, stat, .. } => {
                    path.write(writer);
                    stat.write(writer);
                }
                _ => result.write_listed(writer),
            }
        }
        MultiHeader::END.write(writer);
    }
}

/// Decodes elements up to the header that ends the list.
fn read_all<T>(
    reader: &mut Reader,
    what: &'static str,
    element: impl Fn(Opcode, &mut Reader) -> Result<Option<T>, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut all = Vec::new();
    loop {
        let MultiHeader { opcode, done, .. } = MultiHeader::read(reader)?;
        if done {
            return Ok(all);
        }
        all.push(element(opcode, reader)?.ok_or(Malformed::Value { what, value: opcode.0 })?);
    }
}
