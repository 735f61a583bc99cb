//! Runs the callback of a selector on its runtime, where all that belongs to the user stays.
//!
//! The client's thread only sends terms and receives text. It neither calls nor drops the callback, its
//! future, its outcome or its panic, because each of them may take long.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinError;

use crate::leader::leadership::Leadership;

use super::control::Verdict;

/// A term for the callback, and the means to tell how the callback ended.
struct Cue {
    term: Leadership,
    /// Dropped when the callback has ended, and its future with it.
    ended: oneshot::Sender<()>,
    /// The failure of the callback as text, if there was one.
    failure: oneshot::Sender<Option<String>>,
}

/// The sender of terms to the task that owns the callback. Dropping it ends that task.
pub(super) struct Stage(mpsc::UnboundedSender<Cue>);

/// A callback that was started.
pub(super) struct Running {
    ended: oneshot::Receiver<()>,
    failure: oneshot::Receiver<Option<String>>,
}

/// The runtime of the callback has shut down, and cannot run it again.
pub(super) struct Stopped;

impl Stage {
    /// Starts the task that owns the callback.
    pub(super) fn start<F, R>(callback: F, runtime: &Handle) -> Self
    where
        F: Fn(Leadership) -> R + Send + Sync + 'static,
        R: Future<Output: Verdict> + Send + 'static,
    {
        let (cues, received) = mpsc::unbounded_channel();
        runtime.spawn(perform(callback, received));
        Self(cues)
    }

    /// Starts the callback, which does not run if the term is over by then.
    pub(super) fn run(&self, term: Leadership) -> Running {
        let ((tell_end, ended), (tell_failure, failure)) = (oneshot::channel(), oneshot::channel());
        // If the task has ended, it has dropped both senders with the cue.
        self.0.send(Cue { term, ended: tell_end, failure: tell_failure }).ok();
        Running { ended, failure }
    }
}

impl Running {
    /// Waits until the callback has ended, and its future was dropped.
    pub(super) async fn ended(&mut self) {
        (&mut self.ended).await.ok();
    }

    /// Waits for the failure of the callback as text, if there was one.
    pub(super) async fn failure(self) -> Result<Option<String>, Stopped> {
        self.failure.await.map_err(|_| Stopped)
    }
}

async fn perform<F, R>(callback: F, mut cues: mpsc::UnboundedReceiver<Cue>)
where
    F: Fn(Leadership) -> R + Send + Sync + 'static,
    R: Future<Output: Verdict> + Send + 'static,
{
    let callback = Arc::new(callback);
    while let Some(Cue { term, ended, failure }) = cues.recv().await {
        let callback = callback.clone();
        // A task of its own, whose panic does not end this one.
        let body = tokio::spawn(async move {
            let body = {
                let term = term.clone();
                async move { callback(term).await }
            };
            let outcome = term.run(body).await;
            // Leadership is given up before the outcome is judged, which may take long.
            drop(ended);
            // If the term ended before the callback, there is no verdict.
            outcome.ok().and_then(Verdict::failure)
        });
        let outcome = match body.await {
            Ok(outcome) => outcome,
            Err(error) if error.is_cancelled() => return,
            Err(error) => Some(describe(error)),
        };
        failure.send(outcome).ok();
    }
}

/// Describes a panic as text, and drops its payload, whose drop may itself panic.
fn describe(panic: JoinError) -> String {
    let text = panic.to_string();
    catch_unwind(AssertUnwindSafe(move || drop(panic))).ok();
    text
}
