//! A client for the four-letter words, which servers answer outside of the protocol.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Sends a four-letter word to a server, and returns the answer once the server has closed the connection.
pub fn ask(server: SocketAddr, word: &str, within: Duration) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&server, within)?;
    stream.set_read_timeout(Some(within))?;
    stream.write_all(word.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Returns a figure of a server, by its name in the answer to `mntr`.
pub(crate) fn monitored(server: SocketAddr, name: &str, within: Duration) -> u64 {
    let answer = ask(server, "mntr", within).expect("ZooKeeper answers `mntr`");
    let value = answer.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("`{name}` is not a number in:\n{answer}"))
}
