//! A candidate that leads while its callback runs.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use crate::client::Client;
use crate::error::{LockError, Phase};
use crate::participant::Participant;

use super::leadership::Leadership;
use super::office::Office;

use self::candidate::Candidate;
use self::control::{Control, Ended, Verdict};
use self::stage::Stage;

mod candidate;
pub(super) mod control;
mod stage;

/// A candidate that leads while its callback runs (Curator's `LeaderSelector`).
///
/// When the callback returns, leadership is given up. The candidate runs again only if it is told to: once by
/// [`requeue`](Self::requeue), or always by [`Election::auto_requeue`](crate::Election::auto_requeue). It
/// then goes to the tail of the candidates, so that each of them leads in turn. Dropping the selector closes
/// it in the background.
///
/// When the client is [shut down](Client::shutdown), a callback that runs has the grace period to end. When the selector
/// is closed or dropped, the callback is dropped at its next await.
///
/// If the servers refuse a candidate that always runs again, it tries again: after about 100 ms, and then
/// after pauses that double up to 30 s. Each refusal is logged as an error. Any other selector ends with
/// [`Ended::Failed`].
pub struct LeaderSelector {
    client: Client,
    office: Office,
    control: Arc<Control>,
    ended: watch::Receiver<Option<Ended>>,
}

impl LeaderSelector {
    pub(super) fn start<F, R>(client: Client, office: Office, callback: F) -> Self
    where
        F: Fn(Leadership) -> R + Send + Sync + 'static,
        R: Future<Output: Verdict> + Send + 'static,
    {
        let control = Arc::new(Control {
            close: office.worker.closing().child_token(),
            is_queued: AtomicBool::new(true),
            queued: Notify::new(),
            term: watch::Sender::new(None),
            last_failure: Mutex::default(),
        });
        let (tell, ended) = watch::channel(None);
        let stage = Stage::start(callback, &Handle::current());
        let candidacy = office.candidacy();
        let candidate = Candidate { office: office.clone(), control: control.clone(), stage };
        client.worker().spawn(async move { drop(tell.send_replace(Some(candidate.run(candidacy).await))) });
        Self { client, office, control, ended }
    }

    /// The path of the election below the client's namespace.
    pub fn path(&self) -> &str {
        self.office.path()
    }

    /// Returns whether this candidate leads at this instant, from memory and by the lease clock.
    pub fn has_leadership(&self) -> bool {
        self.term().is_some_and(|term| term.is_leading())
    }

    /// Makes this candidate run once more after its current or next term; returns `false` if it already will.
    ///
    /// A selector that has [`ended`](Self::ended) does not run again.
    pub fn requeue(&self) -> bool {
        let is_new = !self.control.is_queued.swap(true, Ordering::AcqRel);
        self.control.queued.notify_one();
        is_new
    }

    /// Ends the current term, if there is one; its callback is dropped at its next await.
    pub fn interrupt(&self) {
        if let Some(term) = self.term() {
            term.resign();
        }
    }

    /// Returns the term, which is cloned because a look at it may wake code of users in this thread.
    fn term(&self) -> Option<Leadership> {
        // A forked child takes no lock that another thread may have had.
        self.office.check().ok()?;
        self.control.term.borrow().clone()
    }

    /// Leaves the election, without a grace for the callback.
    fn leave(&self) {
        self.control.close.cancel();
        self.interrupt();
    }

    /// Returns the last failure as text: the error or the panic of a callback, or the refusal of the servers
    /// after which the candidate tried again.
    pub fn last_failure(&self) -> Option<String> {
        self.control.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lists the candidates in the order in which they will lead; the first is the leader.
    ///
    /// # Errors
    ///
    /// The same as [`Mutex::participants`](crate::Mutex::participants).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        self.office.participants().await
    }

    /// Returns the current leader, as the servers know it, or `None` if there is none.
    ///
    /// # Errors
    ///
    /// The same as [`participants`](Self::participants).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn leader(&self) -> Result<Option<Participant>, LockError> {
        self.office.leader().await
    }

    /// Waits until this candidate has ended, and returns the reason.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn ended(&self) -> Ended {
        if self.office.check().is_err() {
            return Ended::Closed;
        }
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(reason)) => reason.clone(),
            // The client's thread has ended.
            Ok(None) | Err(_) => Ended::Closed,
        }
    }

    /// Leaves the election, and waits until the callback has ended and leadership is given up.
    ///
    /// Closing a selector that has already ended has no effect.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] if that takes longer than the client's default wait, for example because the
    /// callback does not reach an await. The candidate keeps its place as long as the callback runs.
    ///
    /// # Cancel safety
    ///
    /// The selector is closed in the background.
    pub async fn close(self) -> Result<Ended, LockError> {
        self.office.check()?;
        self.leave();
        let waited = self.client.default_wait();
        tokio::select! {
            biased;
            reason = self.ended() => Ok(reason),
            () = self.client.worker().pause(waited) => {
                let path = self.path().to_owned();
                Err(LockError::Timeout { path, waited, phase: Phase::Releasing, holder: None })
            }
        }
    }
}

impl Drop for LeaderSelector {
    fn drop(&mut self) {
        if self.office.check().is_ok() {
            self.leave();
        }
    }
}

impl fmt::Debug for LeaderSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderSelector")
            .field("path", &self.path())
            .field("has_leadership", &self.has_leadership())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::leader::staged::Unwatched;

    /// Checks a look at a selector whose term is lost.
    async fn check(look: impl FnOnce(&LeaderSelector)) {
        let scene = Unwatched::begin().await;
        let control = Arc::new(Control {
            close: CancellationToken::new(),
            is_queued: AtomicBool::new(false),
            queued: Notify::new(),
            term: watch::Sender::new(Some(scene.term.clone())),
            last_failure: Mutex::default(),
        });
        let (client, office, (_, ended)) = (scene.client.clone(), scene.office.clone(), watch::channel(None));
        let selector = LeaderSelector { client, office, control: control.clone(), ended };
        scene.check(move || drop(control.term.send_replace(None)), || look(&selector));
    }

    #[tokio::test]
    async fn a_look_that_tells_of_the_end_of_the_term_wakes_others_without_a_lock() {
        check(|selector| assert!(!selector.has_leadership())).await;
        check(LeaderSelector::interrupt).await;
    }
}
