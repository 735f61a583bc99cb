//! The listener of a server, and the thread that serves its connections.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connection;
use super::core::Core;
use crate::Error;

/// The sockets of a server, and the thread that serves them.
///
/// Dropping it closes all of them, and waits until the thread has ended.
#[derive(Debug)]
pub(super) struct Listener {
    address: SocketAddr,
    /// Dropped first, so that the thread ends and can be joined.
    stop: Option<DropGuard>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub(super) fn start(address: SocketAddr, core: &Arc<Core>) -> Result<Self, Error> {
        let stop = CancellationToken::new();
        let (started, result) = mpsc::channel();
        let serve = {
            let (core, stop) = (Arc::clone(core), stop.clone());
            move || match listen(address) {
                Ok((runtime, listener, bound)) => {
                    core.address.get_or_init(|| bound);
                    let _ = started.send(Ok(bound));
                    runtime.block_on(stop.run_until_cancelled(serve(&core, &listener)));
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("zklock-testkit-server".to_owned())
            .spawn(serve)
            .map_err(Error::io("start the server's thread"))?;
        let bound = result.recv().map_err(|_| io::Error::other("the server's thread ended"));
        let address = bound.and_then(|bound| bound).map_err(Error::io("listen"))?;
        Ok(Self { address, stop: Some(stop.drop_guard()), thread: Some(thread) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been printed, and has ended the server as dropping does.
            let _ = thread.join();
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<(Runtime, TcpListener, SocketAddr)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(bind(address))?;
    let bound = listener.local_addr()?;
    Ok((runtime, listener, bound))
}

/// Binds the address. A process that another thread is just starting has copies of all sockets of this process
/// until it runs its program, and so keeps the port of a stopped server for a moment.
async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let deadline = Instant::now() + PORT_WITHIN;
    loop {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                sleep(PAUSE).await;
            }
            bound => return bound,
        }
    }
}

/// Accepts connections and keeps the model's time; never returns.
async fn serve(core: &Arc<Core>, listener: &TcpListener) {
    tokio::join!(core.keep_time(), accept(core, listener));
}

async fn accept(core: &Arc<Core>, listener: &TcpListener) {
    loop {
        core.until_running().await;
        match listener.accept().await {
            Ok((stream, peer)) => {
                tokio::spawn(connection::serve(Arc::clone(core), stream, peer));
            }
            Err(error) => {
                // Often no file descriptors are left until other connections end.
                tracing::warn!(%error, "cannot accept a connection");
                sleep(connection::RETRY).await;
            }
        }
    }
}

/// The time within which a port is free again, and the pause between attempts to bind it.
const PORT_WITHIN: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);
