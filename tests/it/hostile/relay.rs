//! A relay between a client and a server, which a test can turn against the client.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{self, Arc};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// Passes frames on until it is told otherwise, and ends with its connections when it is dropped. Each new connection is
/// an honest one again.
pub(super) struct Relay {
    address: SocketAddr,
    connections: Connections,
    _relaying: JoinSet<()>,
}

type Connections = Arc<sync::Mutex<Vec<Arc<Connection>>>>;

/// A connection of the client. Frames and the bytes of an attack never mix.
struct Connection {
    client: Mutex<OwnedWriteHalf>,
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
    _attacking: JoinSet<()>,
}

impl Relay {
    pub(super) async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = listener.local_addr().unwrap();
        let (connections, mut relaying) = (Connections::default(), JoinSet::new());
        relaying.spawn(relay(listener, server, connections.clone()));
        Self { address, connections, _relaying: relaying }
    }

    pub(super) fn connect_string(&self) -> String {
        self.address.to_string()
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.lock().unwrap().len()
    }

    /// Writes these bytes once to the latest connection, behind a whole frame. The client may have ended it.
    pub(super) async fn inject(&self, bytes: &[u8]) {
        self.latest().write(bytes).await.ok();
    }

    /// Writes the first bytes once to the latest connection, and then the others over and over, with a pause behind each
    /// time.
    pub(super) async fn attack(
        &self,
        first: &[u8],
        bytes: Vec<u8>,
        pause: Duration,
        answers: Answers,
    ) -> Attack {
        let connection = self.latest();
        connection.is_seized.store(answers == Answers::Vanish, Ordering::SeqCst);
        connection.write(first).await.expect("the client reads");
        let (written, mut attacking) = (Arc::new(AtomicU64::new(0)), JoinSet::new());
        let count = written.clone();
        attacking.spawn(async move {
            while connection.write(&bytes).await.is_ok() {
                count.fetch_add(bytes.len() as u64, Ordering::SeqCst);
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
            }
        });
        Attack { written, _attacking: attacking }
    }

    fn latest(&self) -> Arc<Connection> {
        self.connections.lock().unwrap().last().expect("the client is connected").clone()
    }
}

impl Connection {
    async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.client.lock().await.write_all(bytes).await
    }

    /// Passes the server's frames on until there are no more.
    async fn answer(&self, mut server: OwnedReadHalf) {
        while let Ok(frame) = frame(&mut server).await {
            if !self.is_seized.load(Ordering::SeqCst) && self.write(&frame).await.is_err() {
                break;
            }
        }
        if !self.is_seized.load(Ordering::SeqCst) {
            self.client.lock().await.shutdown().await.ok();
        }
    }
}

impl Attack {
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }
}

async fn relay(listener: TcpListener, server: SocketAddr, connections: Connections) {
    let mut relaying = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(server).await else { continue };
        // Without this, the relay only adds delays.
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let ((mut requests, client), (answers, mut to_server)) = (client.into_split(), server.into_split());
        let connection =
            Arc::new(Connection { client: Mutex::new(client), is_seized: AtomicBool::default() });
        connections.lock().unwrap().push(connection.clone());
        relaying.spawn(async move { connection.answer(answers).await });
        relaying.spawn(async move { drop(copy(&mut requests, &mut to_server).await) });
    }
}

async fn frame(stream: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let length = stream.read_i32().await?;
    let mut frame = length.to_be_bytes().to_vec();
    frame.resize(4 + usize::try_from(length).map_err(|_| io::ErrorKind::InvalidData)?, 0);
    stream.read_exact(&mut frame[4..]).await?;
    Ok(frame)
}
