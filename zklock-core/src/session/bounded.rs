//! Files with a bound on their length.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a text of at most this many bytes.
pub(crate) fn text(file: &Path, longest: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(file)?.take(longest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest {
        let reason = format!("it is longer than {longest} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}
