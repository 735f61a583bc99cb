//! What the handle and the candidate of a selector share.

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::error::LockError;
use crate::leader::leadership::Leadership;

/// What the handle and the candidate share.
pub(super) struct Control {
    pub(super) close: CancellationToken,
    /// It is to run again.
    pub(super) is_queued: AtomicBool,
    pub(super) queued: Notify,
    pub(super) term: watch::Sender<Option<Leadership>>,
    pub(super) last_failure: Mutex<Option<String>>,
}

/// Why a selector runs no more.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Ended {
    /// It was closed, or its client was, or the runtime of its callback ended.
    Closed,
    /// It cannot run.
    Failed(LockError),
}

/// What a callback may return: nothing, or a `Result` whose error is reported.
pub trait Verdict: Send + 'static {
    /// What went wrong, if anything did.
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
