//! Loopback addresses, and listeners at them that serve their connections on threads of their own.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{self, Ipv4Addr, SocketAddr};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::Error;

/// A listener, and the thread that serves its connections.
///
/// Dropping it closes all of them, and waits until the thread has ended.
#[derive(Debug)]
pub(crate) struct Listener {
    address: SocketAddr,
    /// Dropped first, so that the thread ends and can be joined.
    stop: Option<DropGuard>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens at this address, and serves on a thread with this name and the port.
    pub(crate) fn start<F: Future>(
        name: &str,
        address: SocketAddr,
        serve: impl FnOnce(TcpListener) -> F + Send + 'static,
    ) -> Result<Self, Error> {
        let listener = bind(address).map_err(Error::io("listen"))?;
        let address = listener.local_addr().map_err(Error::io("find the port of a listener"))?;
        let runtime =
            Builder::new_current_thread().enable_all().build().map_err(Error::io("start a runtime"))?;
        let entered = runtime.enter();
        let listener = TcpListener::from_std(listener).map_err(Error::io("listen"))?;
        drop(entered);
        let stop = CancellationToken::new();
        let end = stop.clone();
        let run = move || drop(runtime.block_on(end.run_until_cancelled(serve(listener))));
        let thread = thread::Builder::new().name(format!("{name}-{}", address.port())).spawn(run);
        let thread = thread.map_err(Error::io("start a thread"))?;
        Ok(Self { address, stop: Some(stop.drop_guard()), thread: Some(thread) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// Binds the address. A process that another thread is just starting has copies of all sockets of this process
/// until it runs its program, and so keeps the port of a stopped server for a moment.
fn bind(address: SocketAddr) -> io::Result<net::TcpListener> {
    let deadline = Instant::now() + PORT_WITHIN;
    let listener = loop {
        match net::TcpListener::bind(address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                thread::sleep(PAUSE);
            }
            bound => break bound?,
        }
    };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Accepts the next connection. After a failure, it tries again: often no file descriptors are left until other
/// connections end.
pub(crate) async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Returns a loopback address to listen on: a random one if the system has several, or else 127.0.0.1.
///
/// At 127.0.0.1, the system may assign the port of a killed server to any outgoing connection, even to one
/// that tries to reach the server and then connects to itself. Hardly any other program uses a random
/// loopback address, and no outgoing connection starts from it.
pub(crate) fn loopback() -> Ipv4Addr {
    let [a, b, c, ..] = RandomState::new().hash_one(()).to_be_bytes();
    let own = Ipv4Addr::new(127, a.max(1), b, c.clamp(1, 254));
    if net::TcpListener::bind((own, 0)).is_ok() { own } else { Ipv4Addr::LOCALHOST }
}

/// The time within which a port is free again.
const PORT_WITHIN: Duration = Duration::from_secs(2);
/// The pause between two attempts to bind a port, or to accept a connection.
const PAUSE: Duration = Duration::from_millis(10);
