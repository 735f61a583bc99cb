//! Runs a selector on the client's thread, and has its callback started in each term.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::error::LossReason;
use crate::events::Candidacy;
use crate::leader::leadership::Leadership;
use crate::leader::office::{Office, Requeue, backoff};
use crate::lease::Lease;
use crate::session::drive::Progress;

use super::control::{Control, Ended};
use super::stage::{Stage, Stopped};

pub(super) struct Candidate {
    pub(super) office: Office,
    pub(super) control: Arc<Control>,
    pub(super) stage: Stage,
}

/// The way in which a callback ended.
enum Outcome {
    Ended,
    Failed,
    /// Its runtime has shut down, and cannot run it again.
    Stopped,
}

impl Candidate {
    /// Runs in the election, with a candidacy for each stay in it, of which this is the first.
    pub(super) async fn run(self, candidacy: Candidacy) -> Ended {
        let close = &self.control.close;
        let (mut failures, mut refusals) = (backoff(), backoff());
        let (mut pause, mut last) = (Duration::ZERO, Some(candidacy));
        while let Some(candidacy) = close.run_until_cancelled(self.queued(pause, last.take())).await {
            let candidacy = last.insert(candidacy);
            let started = Instant::now();
            let told = (watch::Sender::new(Progress::Connecting), candidacy.witness());
            let lease = match self.office.elected(close, told).await {
                Ok(Some(lease)) => lease,
                Ok(None) => break,
                Err(error) if self.office.requeue == Requeue::Always => {
                    self.office.report(&error);
                    self.control.note_failure(error.to_string());
                    candidacy.rejected(&error);
                    pause = refusals.lengthen_after(started.elapsed());
                    continue;
                }
                Err(error) => {
                    candidacy.rejected(&error);
                    return Ended::Failed(error);
                }
            };
            refusals.reset();
            let Some(lease) = self.office.hand_over(close, lease).await else { break };
            let (outcome, reason) = self.lead(lease, candidacy).await;
            pause = match outcome {
                Outcome::Stopped => break,
                Outcome::Failed => failures.lengthen().max(self.office.hold_down),
                Outcome::Ended => {
                    failures.reset();
                    if reason == LossReason::Resigned { Duration::ZERO } else { self.office.hold_down }
                }
            };
        }
        Ended::Closed
    }

    /// Waits for `pause`, and then until the candidate is to run. It withdraws at once if it is not to run again.
    async fn queued(&self, pause: Duration, last: Option<Candidacy>) -> Candidacy {
        let last = last.filter(|_| self.is_to_run());
        sleep(pause).await;
        while !self.is_to_run() {
            self.control.queued.notified().await;
        }
        self.control.is_queued.store(false, Ordering::Release);
        last.unwrap_or_else(|| self.office.candidacy())
    }

    fn is_to_run(&self) -> bool {
        self.office.requeue == Requeue::Always || self.control.is_queued.load(Ordering::Acquire)
    }

    /// Runs the callback for one term; returns how the callback and the term ended, once both have.
    async fn lead(&self, lease: Lease, candidacy: &Candidacy) -> (Outcome, LossReason) {
        let term = Leadership::begin(&self.office, lease.tenure(), 0);
        self.control.term.send_replace(Some(term.clone()));
        term.announce(candidacy);
        // The handle sees the term, or this sees that it has closed the selector.
        if self.control.close.is_cancelled() {
            term.resign();
        }
        let mut running = self.stage.run(term.clone());
        let reason = tokio::select! {
            biased;
            reason = term.ending() => reason,
            () = running.ended() => LossReason::Resigned,
        };
        term.end(reason).await;
        lease.release().await.ok();
        self.control.term.send_replace(None);
        (self.judge(running.failure().await), term.lost().await)
    }

    /// Determines how a callback ended, and reports a failure.
    fn judge(&self, failure: Result<Option<String>, Stopped>) -> Outcome {
        match failure {
            Ok(Some(failure)) => {
                tracing::error!(path = self.office.path(), failure, "the callback of a leader failed");
                self.control.note_failure(failure);
                Outcome::Failed
            }
            Ok(None) => Outcome::Ended,
            Err(Stopped) => Outcome::Stopped,
        }
    }
}
