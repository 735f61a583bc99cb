//! The operations of multis and multi-reads, and their results.

use super::jute::records;
use super::{ErrorCode, Malformed, Opcode, Reader, Record, Request, Response, Writer};

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

/// The operation of a multi or a multi-read, and the response to such a request; or [`Opcode::ERROR`], and the reason why
/// the operation failed, or was undone or not attempted because another one failed.
pub type OpResult = (Opcode, Result<Response, ErrorCode>);

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
            Opcode::ERROR => Ok(Some((opcode, Err(Record::read(reader)?)))),
            _ if OPS.contains(&opcode) => Ok(Some((opcode, Ok(Response::read(opcode, reader)?)))),
            _ => Ok(None),
        })
    }

    fn write(&self, writer: &mut Writer) {
        for (opcode, outcome) in self {
            let error = outcome.as_ref().err().copied().unwrap_or(ErrorCode::OK);
            MultiHeader { opcode: *opcode, done: false, error }.write(writer);
            match outcome {
                Ok(response) => response.write(writer),
                Err(error) => error.write(writer),
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
