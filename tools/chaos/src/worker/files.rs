//! A shared file of cells, which takes every write.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The length of a cell, which one system call reads or writes.
const LENGTH: u64 = 20;

/// A file that several processes read and write.
pub(super) struct Cells(File);

impl Cells {
    /// Opens the file, which need not exist.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).map(Self)
    }

    /// Reads a cell, which is zero before the first write.
    pub(super) fn read(&self, cell: u64) -> io::Result<u64> {
        let mut text = [0; LENGTH as usize];
        match self.0.read_at(&mut text, cell * LENGTH)? {
            0 => Ok(0),
            length => {
                let text = String::from_utf8_lossy(&text[..length]);
                text.trim().parse().map_err(|_| io::Error::other(format!("a cell has `{text}`")))
            }
        }
    }

    pub(super) fn write(&self, cell: u64, value: u64) -> io::Result<()> {
        self.0.write_all_at(format!("{value:19}\n").as_bytes(), cell * LENGTH)
    }
}
