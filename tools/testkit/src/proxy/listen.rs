//! The thread of a proxy, which accepts connections.

use std::io;
use std::net;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::connection;
use super::state::State;

/// The pause after a connection could not be accepted, for example because no file descriptor is left.
const PAUSE: Duration = Duration::from_millis(20);

/// Reports to `ready` whether the proxy could start, and serves clients until `end` is cancelled.
pub(super) fn run(
    listener: net::TcpListener,
    state: Arc<State>,
    end: CancellationToken,
    ready: mpsc::Sender<io::Result<()>>,
) {
    let started = start(listener);
    let (started, told) = match started {
        Ok(started) => (Some(started), Ok(())),
        Err(error) => (None, Err(error)),
    };
    // Sending cannot fail, because the thread that started this one waits for the answer.
    let _ = ready.send(told);
    if let Some((runtime, listener)) = started {
        runtime.block_on(end.run_until_cancelled(accept(listener, state)));
    }
}

fn start(listener: net::TcpListener) -> io::Result<(Runtime, TcpListener)> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let listener = {
        let _entered = runtime.enter();
        TcpListener::from_std(listener)?
    };
    Ok((runtime, listener))
}

/// Serves each client in a task, which ends with the runtime at the latest.
async fn accept(listener: TcpListener, state: Arc<State>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => drop(tokio::spawn(connection::serve(Arc::clone(&state), client))),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
