//! Servers that are not ZooKeeper, for tests of wrong addresses.

use std::io;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Error;
use crate::listener::{Listener, accept, loopback};

/// The behaviour of a server that is not ZooKeeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impostor {
    /// Accepts connections, and says nothing.
    Silent,
    /// Closes each connection at once.
    Closing,
    /// Answers a line in HTTP.
    Http,
    /// Answers a `ClientHello` with an alert of TLS, and closes all other connections.
    Tls,
    /// Begins to speak, as a server of SSH does.
    Ssh,
}

/// A listening [`Impostor`], until it is dropped.
#[derive(Debug)]
pub struct Impersonation(Listener);

impl Impostor {
    /// Listens on a free port of the loopback interface.
    pub fn start(self) -> Result<Impersonation, Error> {
        let listener = Listener::start("impostor", (loopback(), 0).into(), async move |listener| {
            loop {
                let (stream, _) = accept(&listener).await;
                tokio::spawn(self.serve(stream));
            }
        });
        listener.map(Impersonation)
    }

    async fn serve(self, mut stream: TcpStream) -> io::Result<()> {
        match self {
            Self::Silent => {}
            Self::Closing => return Ok(()),
            Self::Ssh => stream.write_all(b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n").await?,
            Self::Http => {
                read_until(&mut stream, |words| words.ends_with(b"\r\n")).await?;
                return stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").await;
            }
            Self::Tls => {
                let words = read_until(&mut stream, |words| words.len() >= 5).await?;
                // A fatal alert: no handshake with these suites.
                let alert: &[u8] = if words[0] == 0x16 { &[0x15, 3, 3, 0, 2, 2, 40] } else { &[] };
                return stream.write_all(alert).await;
            }
        }
        read_until(&mut stream, |_| false).await.map(drop)
    }
}

/// Reads until the words are enough, or the other side closes the connection.
async fn read_until(stream: &mut TcpStream, is_enough: impl Fn(&[u8]) -> bool) -> io::Result<BytesMut> {
    let mut words = BytesMut::new();
    while !is_enough(&words) {
        if stream.read_buf(&mut words).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(words)
}

impl Impersonation {
    /// Returns the address, as `HOST:PORT` of a connect string.
    pub fn connect_string(&self) -> String {
        self.0.address().to_string()
    }
}
