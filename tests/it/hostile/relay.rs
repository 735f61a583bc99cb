//! A relay between a client and a server, which a test can turn against the client.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Passes frames on until it is told otherwise. Each new connection is an honest one again.
pub(super) struct Relay {
    connections: Arc<Mutex<Vec<Arc<Connection>>>>,
    /// Behind the connections, whose end the thread must see when it wakes up.
    listening: Listening,
}

/// The address at which a thread listens. The drop of this value wakes it up.
struct Listening(SocketAddr);

/// A connection of the client. Frames and the bytes of an attack never mix.
struct Connection {
    client: Mutex<TcpStream>,
    /// Whether the server's frames are dropped.
    is_seized: AtomicBool,
}

/// Whether the answers of the server still arrive during an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    Arrive,
    Vanish,
}

/// Bytes that are written to the client over and over, until this value is dropped.
pub(super) struct Attack {
    written: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Relay {
    pub(super) fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there is a free port");
        let address = listener.local_addr().unwrap();
        let connections = Arc::<Mutex<Vec<Arc<Connection>>>>::default();
        let accepted = Arc::downgrade(&connections);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Some(accepted) = accepted.upgrade() else { return };
                if let Ok(connection) = relay(client, server) {
                    lock(&accepted).push(connection);
                }
            }
        });
        Self { connections, listening: Listening(address) }
    }

    pub(super) fn connect_string(&self) -> String {
        self.listening.0.to_string()
    }

    pub(super) fn connections(&self) -> usize {
        lock(&self.connections).len()
    }

    /// Writes these bytes once to the latest connection, behind a whole frame. The client may have ended it.
    pub(super) fn inject(&self, bytes: &[u8]) {
        self.latest().write(bytes).ok();
    }

    /// Writes these bytes to the latest connection over and over, with a pause behind each time.
    pub(super) fn attack(&self, bytes: Vec<u8>, pause: Duration, answers: Answers) -> Attack {
        self.attack_after(&[], bytes, pause, answers)
    }

    /// Writes the first bytes once, and then the others over and over.
    pub(super) fn attack_after(
        &self,
        first: &[u8],
        bytes: Vec<u8>,
        pause: Duration,
        answers: Answers,
    ) -> Attack {
        let connection = self.latest();
        if answers == Answers::Vanish {
            connection.is_seized.store(true, Ordering::SeqCst);
        }
        connection.write(first).expect("the client reads");
        let attack = Attack { written: Arc::default(), is_over: Arc::default() };
        let (written, is_over) = (attack.written.clone(), attack.is_over.clone());
        thread::spawn(move || {
            while !is_over.load(Ordering::SeqCst) && connection.write(&bytes).is_ok() {
                written.fetch_add(bytes.len() as u64, Ordering::SeqCst);
                if !pause.is_zero() {
                    thread::sleep(pause);
                }
            }
        });
        attack
    }

    fn latest(&self) -> Arc<Connection> {
        lock(&self.connections).last().expect("the client is connected").clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        for connection in lock(&self.connections).drain(..) {
            connection.is_seized.store(true, Ordering::SeqCst);
            lock(&connection.client).shutdown(Shutdown::Both).ok();
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        TcpStream::connect(self.0).ok();
    }
}

impl Connection {
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        lock(&self.client).write_all(bytes)
    }
}

impl Attack {
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

fn relay(client: TcpStream, server: SocketAddr) -> io::Result<Arc<Connection>> {
    let server = TcpStream::connect(server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    // A client that does not read must not keep this thread forever.
    client.set_write_timeout(Some(Duration::from_secs(60)))?;
    let (mut requests, mut requests_to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        io::copy(&mut requests, &mut requests_to).ok();
        requests_to.shutdown(Shutdown::Both).ok();
    });
    let connection = Arc::new(Connection { client: Mutex::new(client), is_seized: AtomicBool::default() });
    let mut answers = server;
    let to_client = connection.clone();
    thread::spawn(move || {
        while let Ok(frame) = frame(&mut answers) {
            if !to_client.is_seized.load(Ordering::SeqCst) && to_client.write(&frame).is_err() {
                break;
            }
        }
        if !to_client.is_seized.load(Ordering::SeqCst) {
            lock(&to_client.client).shutdown(Shutdown::Both).ok();
        }
    });
    Ok(connection)
}

fn frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    stream.read_exact(&mut frame)?;
    let length = i32::from_be_bytes([frame[0], frame[1], frame[2], frame[3]]);
    frame.resize(4 + usize::try_from(length).map_err(|_| io::ErrorKind::InvalidData)?, 0);
    stream.read_exact(&mut frame[4..])?;
    Ok(frame)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
