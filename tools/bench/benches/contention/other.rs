//! A measurement of another library, by a program in its language.

use std::process::{Command, Stdio};

use crate::Failure;

/// Runs a program, whose source has this name, and returns the line of its output with this start.
pub(crate) fn line(command: &mut Command, start: &str, source: &str) -> Result<String, Failure> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().find(|line| line.starts_with(start)) {
        Some(line) if output.status.success() => Ok(line.to_owned()),
        _ => Err(format!("{source} ended with {}: {text}", output.status).into()),
    }
}
