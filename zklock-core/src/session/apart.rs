//! Work that blocks, on threads for which neither the client nor its end has to wait.

use std::io;
use std::thread;

use tokio::sync::oneshot;

/// Starts work on a thread of its own, and returns its outcome when it is done.
pub(super) fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<oneshot::Receiver<T>> {
    let (reply, answer) = oneshot::channel();
    thread::Builder::new().name(name.to_owned()).spawn(move || reply.send(work()).ok())?;
    Ok(answer)
}
