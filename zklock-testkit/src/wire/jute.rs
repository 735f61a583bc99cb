use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Why a sequence of bytes is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The bytes end within a record.
    #[error("the bytes end within {0}")]
    Truncated(&'static str),

    /// A length is negative, or greater than what follows it.
    #[error("the length {0} is not possible here")]
    Length(i32),

    /// A value stands where only others are known.
    #[error("{value} is no {what}")]
    Value {
        /// What was expected.
        what: &'static str,
        /// What was found.
        value: i32,
    },

    /// Bytes are left over after the last record.
    #[error("{0} bytes are left over")]
    Trailing(usize),
}

/// A record of the protocol: something with one encoding.
pub trait Record: Sized {
    /// Decodes the record.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the bytes are no such record.
    fn read(reader: &mut Reader) -> Result<Self, Malformed>;

    /// Encodes the record.
    fn write(&self, writer: &mut Writer);

    /// Encodes the record alone.
    fn to_bytes(&self) -> Bytes {
        let mut writer = Writer::default();
        self.write(&mut writer);
        writer.finish()
    }

    /// Decodes a record that fills all of the bytes.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the bytes are no such record, or more than it.
    fn from_bytes(bytes: Bytes) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let record = Self::read(&mut reader)?;
        reader.end()?;
        Ok(record)
    }
}

/// Takes values in the jute encoding off the front of bytes.
#[derive(Clone, Debug)]
pub struct Reader {
    bytes: Bytes,
}

impl Reader {
    /// Starts at the front of these bytes.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes }
    }

    /// How many bytes have not been read.
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// Makes sure that nothing is left.
    ///
    /// # Errors
    ///
    /// [`Malformed::Trailing`] otherwise.
    pub fn end(&self) -> Result<(), Malformed> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Malformed::Trailing(self.remaining())) }
    }

    /// Takes all that has not been read.
    pub fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.bytes)
    }

    /// Reads an `int`.
    ///
    /// # Errors
    ///
    /// [`Malformed::Truncated`].
    pub fn int(&mut self) -> Result<i32, Malformed> {
        self.bytes.try_get_i32().map_err(|_| Malformed::Truncated("an int"))
    }

    /// Reads a `long`.
    ///
    /// # Errors
    ///
    /// [`Malformed::Truncated`].
    pub fn long(&mut self) -> Result<i64, Malformed> {
        self.bytes.try_get_i64().map_err(|_| Malformed::Truncated("a long"))
    }

    /// Reads a `boolean`, which is true unless its byte is zero.
    ///
    /// # Errors
    ///
    /// [`Malformed::Truncated`].
    pub fn boolean(&mut self) -> Result<bool, Malformed> {
        self.bytes.try_get_u8().map(|byte| byte != 0).map_err(|_| Malformed::Truncated("a boolean"))
    }

    /// Reads a `buffer`, which may be null.
    ///
    /// # Errors
    ///
    /// [`Malformed::Truncated`] and [`Malformed::Length`].
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

    /// Reads a `ustring`, in which U+FFFD stands for what is not UTF-8, as in Java.
    ///
    /// # Errors
    ///
    /// [`Malformed`] also when it is null.
    pub fn string(&mut self) -> Result<String, Malformed> {
        let bytes = self.buffer()?.ok_or(Malformed::Length(-1))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads a `vector`; a null one is empty.
    ///
    /// # Errors
    ///
    /// [`Malformed`], also when the count is greater than the bytes that follow.
    pub fn vector<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = self.int()?;
        if count == -1 {
            return Ok(Vec::new());
        }
        // No element is empty, so that no count can ask for more memory than its frame has bytes.
        let size = usize::try_from(count).map_err(|_| Malformed::Length(count))?;
        if size > self.bytes.len() {
            return Err(Malformed::Length(count));
        }
        (0..size).map(|_| element(self)).collect()
    }
}

/// Appends values in the jute encoding.
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

    /// Writes a `buffer`, or a null one.
    ///
    /// # Panics
    ///
    /// When it is longer than 2 GiB.
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
    /// When it is longer than 2 GiB.
    pub fn string(&mut self, value: &str) {
        self.buffer(Some(value.as_bytes()));
    }

    /// Writes a `vector`.
    ///
    /// # Panics
    ///
    /// When it has more than 2³¹ elements.
    pub fn vector<T>(&mut self, values: &[T], mut element: impl FnMut(&mut Self, &T)) {
        self.length(values.len());
        values.iter().for_each(|value| element(self, value));
    }

    /// Writes bytes that are encoded already.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.put_slice(bytes);
    }

    /// Gives the bytes that were written.
    pub fn finish(self) -> Bytes {
        self.bytes.freeze()
    }

    fn length(&mut self, length: usize) {
        self.int(length.try_into().expect("a record is smaller than 2 GiB"));
    }
}
