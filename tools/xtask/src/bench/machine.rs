//! A description of the machine.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};

use super::server::Server;
use crate::step::{Outcome, root};

/// Returns the properties of the machine and of the programs on it.
pub(crate) fn described(server: &Server) -> Outcome<Value> {
    let processors = std::thread::available_parallelism()?.get();
    let cpu = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned());
    let memory = field("/proc/meminfo", "MemTotal").unwrap_or_default();
    let kibibytes = memory.trim_end_matches(" kB").parse::<f64>().unwrap_or_default();
    Ok(json!({
        "processors": processors,
        "cpu": cpu,
        "memory_gib": (kibibytes / f64::from(1 << 20)).round() as u64,
        "kernel": fs::read_to_string("/proc/sys/kernel/osrelease")?.split('-').next().unwrap_or_default().trim(),
        "zookeeper": version_of(server)?,
        "java": first_line(Command::new("java").arg("-version"))?,
        "python": first_line(Command::new("python3").arg("--version"))?,
        "rustc": first_line(Command::new("rustc").arg("--version"))?,
        "commit": first_line(Command::new("git").args(["describe", "--always", "--dirty"]))?,
        "date": first_line(Command::new("date").args(["-u", "+%F"]))?,
    }))
}

/// Returns the value of the first line `NAME: VALUE` of a file.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'));
    value.map(|value| value.trim().to_owned())
}

fn version_of(server: &Server) -> Outcome<String> {
    let mut stream = TcpStream::connect(server.address())?;
    stream.write_all(b"srvr")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let version = answer.lines().find_map(|line| line.strip_prefix("Zookeeper version: "));
    Ok(version.and_then(|version| version.split(['-', ',']).next()).unwrap_or("unknown").to_owned())
}

/// Runs a command in the root of the workspace, and returns the first line that it prints.
fn first_line(command: &mut Command) -> Outcome<String> {
    let output = command.current_dir(root()).output()?;
    // Some versions of Java print to the standard error.
    let text = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&text).lines().next().unwrap_or_default().to_owned())
}
