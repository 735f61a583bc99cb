//! A resource that refuses older tokens, as a service in the campaign's process.
//!
//! A request is the first line of a connection, and its answer is a line, too: `read NAME` has the value, and
//! `write NAME ZXID HANDOFF VALUE` has `applied` or `refused`.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};

/// The values by their names.
#[derive(Debug, Default)]
struct Shelf(Mutex<HashMap<String, Register>>);

/// A value, and the greatest token that has written it.
#[derive(Clone, Copy, Debug, Default)]
struct Register {
    value: u64,
    token: (u64, u32),
}

/// Serves until the runtime ends, and returns the address.
pub(crate) async fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let (address, shelf) = (listener.local_addr()?, Arc::new(Shelf::default()));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(shelf.clone(), stream));
        }
    });
    Ok(address)
}

async fn serve(shelf: Arc<Shelf>, stream: TcpStream) -> io::Result<()> {
    let mut stream = BufStream::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let answer = shelf.answer(&line).unwrap_or_else(|| "unknown".to_owned());
    stream.write_all((answer + "\n").as_bytes()).await?;
    stream.flush().await
}

impl Shelf {
    fn answer(&self, line: &str) -> Option<String> {
        let words: Vec<_> = line.split_whitespace().collect();
        let mut registers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match words[..] {
            ["read", name] => Some(registers.get(name).copied().unwrap_or_default().value.to_string()),
            ["write", name, zxid, handoff, value] => {
                let token = (zxid.parse().ok()?, handoff.parse().ok()?);
                let register = registers.entry(name.to_owned()).or_default();
                if token < register.token {
                    return Some("refused".to_owned());
                }
                *register = Register { value: value.parse().ok()?, token };
                Some("applied".to_owned())
            }
            _ => None,
        }
    }
}

/// Sends a request on a connection of its own, and returns the answer.
pub(crate) async fn ask(service: SocketAddr, request: &str) -> io::Result<String> {
    let mut stream = BufStream::new(TcpStream::connect(service).await?);
    stream.write_all(format!("{request}\n").as_bytes()).await?;
    stream.flush().await?;
    let mut answer = String::new();
    if stream.read_line(&mut answer).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(answer.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_token_is_refused_and_the_same_one_is_not() {
        let shelf = Shelf::default();
        let ask = |line| shelf.answer(line).unwrap();
        assert_eq!(ask("read a"), "0");
        for (line, answer) in [
            ("write a 5 1 10", "applied"),
            ("write a 5 1 11", "applied"),
            ("write a 5 0 12", "refused"),
            ("write a 6 0 13", "applied"),
            ("read a", "13"),
            ("write b 1 0 1", "applied"),
        ] {
            assert_eq!(ask(line), answer, "{line}");
        }
        assert_eq!(shelf.answer("write a x 0 1"), None);
    }
}
