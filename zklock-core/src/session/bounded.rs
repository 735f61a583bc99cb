//! Files of credentials and certificates, with a bound on their length.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a file of at most this many bytes. Blocks the thread for as long as the file takes.
pub(crate) fn read(file: &Path, longest: u64) -> io::Result<String> {
    let mut text = String::new();
    if File::open(file)?.take(longest + 1).read_to_string(&mut text)? as u64 > longest {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is longer than {longest} bytes"),
        ));
    }
    Ok(text)
}
