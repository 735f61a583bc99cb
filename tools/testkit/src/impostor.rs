//! Servers that are not ZooKeeper, for tests of wrong addresses.
//!
//! This module uses only `listener`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::listener::loopback;

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
pub struct Impersonation {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Impostor {
    /// Listens on a free port of the loopback interface.
    ///
    /// # Errors
    ///
    /// An error of the system.
    pub fn start(self) -> io::Result<Impersonation> {
        let listener = TcpListener::bind((loopback(), 0))?;
        let address = listener.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let stop = is_over.clone();
        thread::spawn(move || {
            for stream in listener.incoming().take_while(|_| !stop.load(Ordering::SeqCst)).flatten() {
                thread::spawn(move || self.serve(stream).ok());
            }
        });
        Ok(Impersonation { address, is_over })
    }

    fn serve(self, mut stream: TcpStream) -> io::Result<()> {
        match self {
            Self::Silent => {}
            Self::Closing => return Ok(()),
            Self::Ssh => stream.write_all(b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n")?,
            Self::Http => {
                read_until(&mut stream, |words| words.ends_with(b"\r\n"))?;
                return stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
            }
            Self::Tls => {
                let words = read_until(&mut stream, |words| words.len() >= 5)?;
                // A fatal alert: no handshake with these suites.
                return if words[0] == 0x16 { stream.write_all(&[0x15, 3, 3, 0, 2, 2, 40]) } else { Ok(()) };
            }
        }
        read_until(&mut stream, |_| false).map(drop)
    }
}

/// Reads until the words are enough, or the other side closes the connection.
fn read_until(stream: &mut TcpStream, is_enough: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
    let (mut words, mut buffer) = (Vec::new(), [0; 512]);
    while !is_enough(&words) {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        words.extend_from_slice(&buffer[..length]);
    }
    Ok(words)
}

impl Impersonation {
    /// Returns the address, as `HOST:PORT` of a connect string.
    pub fn connect_string(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for Impersonation {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts connections.
        TcpStream::connect(self.address).ok();
    }
}
