//! The state that the handle and the candidate of a selector share.

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::error::LockError;
use crate::leader::leadership::Leadership;

/// The state that the handle and the candidate share.
pub(super) struct Control {
    /// Cancelled when the candidate is to leave. A callback that runs then goes on until it, or its term, has ended.
    pub(super) close: CancellationToken,
    /// The candidate is to run again.
    pub(super) is_queued: AtomicBool,
    pub(super) queued: Notify,
    pub(super) term: watch::Sender<Option<Leadership>>,
    pub(super) last_failure: Mutex<Option<String>>,
}

impl Control {
    /// Keeps the reason of the last failure, as text.
    pub(super) fn note_failure(&self, failure: String) {
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
    }
}

/// The reason why a selector has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Ended {
    /// The selector or its client was closed, or the runtime of its callback has shut down.
    Closed,
    /// The candidate cannot run, for this reason. A selector with
    /// [`auto_requeue`](crate::Election::auto_requeue) does not end: it tries again after a pause.
    Failed(LockError),
}

/// The return type of a callback: `()`, or a `Result` whose error is reported.
///
/// It is asked and dropped on the runtime of the callback, after leadership was given up. It may take long.
pub trait Verdict: Send + 'static {
    /// Returns the failure as text, if there was one.
    fn failure(self) -> Option<String>;
}

impl Verdict for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>> + Send + 'static> Verdict for Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| error.into().to_string())
    }
}
