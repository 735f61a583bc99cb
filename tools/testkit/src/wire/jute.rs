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
    Value {
        /// The kind of value that was expected.
        what: &'static str,
        /// The value that was found.
        value: i32,
    },

    /// Bytes are left over after the last record.
    #[error("{0} bytes are left over")]
    Trailing(usize),
}

/// A record of the protocol, which has one encoding.
pub trait Record: Sized {
    /// Decodes the record.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`] if the bytes do not encode such a record.
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
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`] if the bytes do not encode such a record, or if bytes are left over.
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
    i64: long, |writer, value| writer.long(*value);
    bool: boolean, |writer, value| writer.boolean(*value);
    String: string, |writer, value| writer.string(value);
    Option<String>: nullable_string, |writer, value| writer.nullable_string(value.as_deref());
    Option<Bytes>: buffer, |writer, value| writer.buffer(value.as_deref());
}

impl<T: Record> Record for Vec<T> {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        reader.vector(T::read)
    }

    fn write(&self, writer: &mut Writer) {
        writer.vector(self, |writer, element| element.write(writer));
    }
}

/// A reader of values in the jute encoding.
#[derive(Clone, Debug)]
pub struct Reader {
    bytes: Bytes,
}

impl Reader {
    /// Creates a reader that starts at the front of these bytes.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes }
    }

    /// Returns how many bytes have not been read.
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// Checks that all bytes have been read.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed::Trailing`] if bytes are left.
    pub fn end(&self) -> Result<(), Malformed> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Malformed::Trailing(self.remaining())) }
    }

    /// Takes all bytes that have not been read.
    pub fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.bytes)
    }

    /// Reads an `int`.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed::Truncated`] if the bytes end within the value.
    pub fn int(&mut self) -> Result<i32, Malformed> {
        self.bytes.try_get_i32().map_err(|_| Malformed::Truncated("an int"))
    }

    /// Reads a `long`.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed::Truncated`] if the bytes end within the value.
    pub fn long(&mut self) -> Result<i64, Malformed> {
        self.bytes.try_get_i64().map_err(|_| Malformed::Truncated("a long"))
    }

    /// Reads a `boolean`, which is true unless its byte is zero.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed::Truncated`] if the bytes end within the value.
    pub fn boolean(&mut self) -> Result<bool, Malformed> {
        self.bytes.try_get_u8().map(|byte| byte != 0).map_err(|_| Malformed::Truncated("a boolean"))
    }

    /// Reads a `buffer`, which may be null.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed::Truncated`] if the bytes end within the length, and [`Malformed::Length`] if the
    /// length is less than -1 or greater than the number of bytes that follow.
    pub fn buffer(&mut self) -> Result<Option<Bytes>, Malformed> {
        let length = self.int()?;
        if length == -1 {
            return Ok(None);
        }
        let size = usize::try_from(length).map_err(|_| Malformed::Length(length))?;
        if size > self.bytes.len() {
            return Err(Malformed::Length(length));
        }
        Ok(Some(self.bytes.split_to(size)))
    }

    /// Reads a `ustring`, replacing invalid UTF-8 by U+FFFD as Java does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`buffer`](Self::buffer), and [`Malformed::Length`] if the string is null.
    pub fn string(&mut self) -> Result<String, Malformed> {
        self.nullable_string()?.ok_or(Malformed::Length(-1))
    }

    /// Reads a `ustring` that may be null, replacing invalid UTF-8 by U+FFFD as Java does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`buffer`](Self::buffer).
    pub fn nullable_string(&mut self) -> Result<Option<String>, Malformed> {
        Ok(self.buffer()?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Reads a `vector`; a null vector is read as an empty one.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed::Truncated`] if the bytes end within the count, [`Malformed::Length`] if the count
    /// is less than -1 or greater than the number of bytes that follow, and the errors of `element`.
    pub fn vector<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = self.int()?;
        if count == -1 {
            return Ok(Vec::new());
        }
        // Every element takes at least one byte, so a greater count is wrong. Refusing it keeps a short frame
        // from asking for much memory.
        let size = usize::try_from(count).map_err(|_| Malformed::Length(count))?;
        if size > self.bytes.len() {
            return Err(Malformed::Length(count));
        }
        (0..size).map(|_| element(self)).collect()
    }
}

/// A writer of values in the jute encoding.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: BytesMut,
}

impl Writer {
    /// Writes an `int`.
    pub fn int(&mut self, value: i32) {
        self.bytes.put_i32(value);
    }

    /// Writes a `long`.
    pub fn long(&mut self, value: i64) {
        self.bytes.put_i64(value);
    }

    /// Writes a `boolean`.
    pub fn boolean(&mut self, value: bool) {
        self.bytes.put_u8(value.into());
    }

    /// Writes a `buffer`, which is null for `None`.
    ///
    /// # Panics
    ///
    /// Panics if the value is 2 GiB or longer.
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
    ///
    /// # Panics
    ///
    /// Panics if the value is 2 GiB or longer.
    pub fn string(&mut self, value: &str) {
        self.buffer(Some(value.as_bytes()));
    }

    /// Writes a `ustring`, which is null for `None`.
    ///
    /// # Panics
    ///
    /// Panics if the value is 2 GiB or longer.
    pub fn nullable_string(&mut self, value: Option<&str>) {
        self.buffer(value.map(str::as_bytes));
    }

    /// Writes a `vector`.
    ///
    /// # Panics
    ///
    /// Panics if there are 2³¹ elements or more.
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
