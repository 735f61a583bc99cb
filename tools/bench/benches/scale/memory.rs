//! The resident memory of this process.

use std::fs;

use crate::program::Failure;

pub(crate) fn resident() -> Result<u64, Failure> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let pages = statm.split(' ').nth(1).ok_or("/proc/self/statm has no second number")?;
    Ok(pages.parse::<u64>()? * rustix::param::page_size() as u64)
}

/// Returns the bytes that came to be resident since, for each of these things.
pub(crate) fn each_since(before: u64, things: usize) -> Result<f64, Failure> {
    Ok((resident()? as f64 - before as f64) / things as f64)
}
