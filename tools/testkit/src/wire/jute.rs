//! The jute encoding, which all records of the protocol use.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The reason why bytes cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The bytes end within a value.
    #[error("the bytes end within {0}")]
    Truncated(&'static str),

    /// A length is negative, or greater than the number of bytes that follow.
    #[error("the length {0} is out of range")]
    Length(i32),

    /// A value is not one of those that the protocol defines.
    #[error("{value} is not a known {what}")]
    Value { what: &'static str, value: i32 },

    /// Bytes are left over after the last record.
    #[error("{0} bytes are left over")]
    Trailing(usize),
}

/// A record of the protocol, which has one encoding.
pub trait Record: Sized {
    /// Decodes the record.
    fn read(reader: &mut Reader) -> Result<Self, Malformed>;

    /// Encodes the record.
    fn write(&self, writer: &mut Writer);

    /// Returns the encoded record.
    fn to_bytes(&self) -> Bytes {
        let mut writer = Writer::default();
        self.write(&mut writer);
        writer.finish()
    }

    /// Decodes a record that takes up all of the bytes.
    fn from_bytes(bytes: Bytes) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let record = Self::read(&mut reader)?;
        reader.end()?;
        Ok(record)
    }
}

/// Implements [`Record`] for types whose fields are encoded in this order.
macro_rules! records {
    ($($type:ident { $($field:tt),* })*) => {$(
        impl Record for $type {
            fn read(reader: &mut Reader) -> Result<Self, Malformed> {
                Ok(Self { $($field: Record::read(reader)?),* })
            }

            fn write(&self, writer: &mut Writer) {
                $(self.$field.write(writer);)*
            }
        }
    )*};
}
pub(super) use records;

/// Encodes the variants of a type that have one opcode or several, with their fields in this order.
macro_rules! variants {
    ($type:ident {
        $($opcode:ident $(| $other:ident)* => $variant:ident $(($inner:ident))? $({ $($field:ident),* })?,)*
    }) => {
        impl $type {
            /// Returns the first opcode, unless the variant needs code of its own.
            #[allow(dead_code, unreachable_patterns, reason = "some types have no other variants")]
            fn listed_opcode(&self) -> Option<Opcode> {
                match self {
                    $(Self::$variant { .. } => Some(Opcode::$opcode),)*
                    _ => None,
                }
            }

            /// Decodes a variant, unless it needs code of its own.
            fn read_listed(opcode: Opcode, reader: &mut Reader) -> Result<Option<Self>, Malformed> {
                Ok(Some(match opcode {
                    $(Opcode::$opcode $(| Opcode::$other)* => {
                        $(let $inner = Record::read(reader)?;)?
                        $($(let $field = Record::read(reader)?;)*)?
                        Self::$variant $(($inner))? $({ $($field),* })?
                    })*
                    _ => return Ok(None),
                }))
            }

            /// Encodes a variant, unless it needs code of its own.
            #[allow(unreachable_patterns, reason = "some types have no other variants")]
            fn write_listed(&self, writer: &mut Writer) {
                match self {
                    $(Self::$variant $(($inner))? $({ $($field),* })? => {
                        $($inner.write(writer);)?
                        $($($field.write(writer);)*)?
                    })*
                    _ => {}
                }
            }
        }
    };
}
pub(super) use variants;

/// Implements [`Record`] for a value by the methods of readers and writers.
macro_rules! values {
    ($($type:ty: $read:ident, $write:expr;)*) => {$(
        impl Record for $type {
            fn read(reader: &mut Reader) -> Result<Self, Malformed> {
                reader.$read()
            }

            fn write(&self, writer: &mut Writer) {
                let write: fn(&mut Writer, &Self) = $write;
                write(writer, self);
            }
        }
    )*};
}

values! {
    i32: int, |writer, value| writer.int(*value);
    i64: long, |writer, value| writer.bytes.put_i64(*value);
    bool: boolean, |writer, value| writer.bytes.put_u8((*value).into());
    String: string, |writer, value| writer.string(value);
    Option<String>: nullable_string, |writer, value| writer.buffer(value.as_deref().map(str::as_bytes));
    Option<Bytes>: buffer, |writer, value| writer.buffer(value.as_deref());
}

/// A vector, of which a null one is read as an empty one.
impl<T: Record> Record for Vec<T> {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        (0..reader.length()?.unwrap_or_default()).map(|_| T::read(reader)).collect()
    }

    fn write(&self, writer: &mut Writer) {
        writer.vector(self, |writer, element| element.write(writer));
    }
}

/// A field at the end of a record, which old clients omit.
impl Record for Option<bool> {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        (!reader.bytes.is_empty()).then(|| reader.boolean()).transpose()
    }

    fn write(&self, writer: &mut Writer) {
        self.iter().for_each(|value| value.write(writer));
    }
}

/// A reader of records in the jute encoding.
#[derive(Clone, Debug)]
pub struct Reader {
    bytes: Bytes,
}

impl Reader {
    /// Creates a reader that starts at the front of these bytes.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes }
    }

    /// Checks that all bytes have been read.
    pub fn end(&self) -> Result<(), Malformed> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Malformed::Trailing(self.bytes.len())) }
    }

    /// Takes all bytes that have not been read.
    pub fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.bytes)
    }

    pub(super) fn int(&mut self) -> Result<i32, Malformed> {
        self.bytes.try_get_i32().map_err(|_| Malformed::Truncated("an int"))
    }

    fn long(&mut self) -> Result<i64, Malformed> {
        self.bytes.try_get_i64().map_err(|_| Malformed::Truncated("a long"))
    }

    /// Reads a `boolean`, which is true unless its byte is zero.
    fn boolean(&mut self) -> Result<bool, Malformed> {
        self.bytes.try_get_u8().map(|byte| byte != 0).map_err(|_| Malformed::Truncated("a boolean"))
    }

    /// Reads the length of a buffer or a vector, or `None` if it is null.
    ///
    /// Every element takes at least one byte, so a length above that of the rest is wrong. Refusing it keeps a short frame
    /// from asking for much memory.
    fn length(&mut self) -> Result<Option<usize>, Malformed> {
        let length = self.int()?;
        match usize::try_from(length) {
            Ok(size) if size <= self.bytes.len() => Ok(Some(size)),
            _ if length == -1 => Ok(None),
            _ => Err(Malformed::Length(length)),
        }
    }

    fn buffer(&mut self) -> Result<Option<Bytes>, Malformed> {
        Ok(self.length()?.map(|length| self.bytes.split_to(length)))
    }

    fn string(&mut self) -> Result<String, Malformed> {
        self.nullable_string()?.ok_or(Malformed::Length(-1))
    }

    /// Reads a `ustring` that may be null, replacing invalid UTF-8 by U+FFFD as Java does.
    fn nullable_string(&mut self) -> Result<Option<String>, Malformed> {
        Ok(self.buffer()?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// A writer of records and of values in the jute encoding. It panics at lengths of 2 GiB and more.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: BytesMut,
}

impl Writer {
    /// Writes an `int`.
    pub fn int(&mut self, value: i32) {
        self.bytes.put_i32(value);
    }

    /// Writes a `buffer`, which is null for `None`.
    pub fn buffer(&mut self, value: Option<&[u8]>) {
        match value {
            None => self.int(-1),
            Some(value) => {
                self.length(value.len());
                self.bytes.put_slice(value);
            }
        }
    }

    /// Writes a `ustring`.
    pub fn string(&mut self, value: &str) {
        self.buffer(Some(value.as_bytes()));
    }

    /// Writes a `vector`.
    pub fn vector<T>(&mut self, values: &[T], mut element: impl FnMut(&mut Self, &T)) {
        self.length(values.len());
        values.iter().for_each(|value| element(self, value));
    }

    /// Writes bytes that are already encoded.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.put_slice(bytes);
    }

    /// Returns the bytes that were written.
    pub fn finish(self) -> Bytes {
        self.bytes.freeze()
    }

    fn length(&mut self, length: usize) {
        self.int(length.try_into().expect("a record is smaller than 2 GiB"));
    }
}
