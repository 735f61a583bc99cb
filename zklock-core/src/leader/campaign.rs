//! Runs a latch in its election until it is closed.

use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::error::{LockError, LossReason};
use crate::events::Candidacy;
use crate::lease::Lease;
use crate::session::drive::Progress;
use crate::tasks::panics;

use super::leadership::Leadership;
use super::office::{Office, backoff};

/// The position of a candidate in its election.
#[derive(Clone)]
pub(super) enum Position {
    /// It is not known yet whether the candidate is first in the queue.
    Starts,
    Follows,
    Leads(Leadership),
    /// The candidate cannot run, and tries again after a pause. The error stays until the next answer of the
    /// election, so that callers do not wait for an attempt that may fail again.
    Refused(LockError),
    Closed,
}

impl Position {
    /// Returns the term of a candidate that leads, or has just led.
    pub(super) fn term(self) -> Option<Leadership> {
        match self {
            Self::Leads(leadership) => Some(leadership),
            Self::Starts | Self::Follows | Self::Refused(_) | Self::Closed => None,
        }
    }
}

/// The task of a latch, which runs for the office on the client's thread until it is closed.
pub(super) struct Campaign {
    /// Dropped before the office, whose worker delivers the end of the candidacy.
    pub(super) candidacy: Candidacy,
    pub(super) office: Office,
    pub(super) told: watch::Sender<Position>,
    /// Cancelled when the candidate is to leave. A term with bodies goes on until they, or it, have ended.
    pub(super) close: CancellationToken,
}

impl Campaign {
    pub(super) async fn run(self) {
        let mut backoff = backoff();
        loop {
            let (started, mut is_closed) = (Instant::now(), false);
            // A panic costs the session, and not the candidate.
            if panics(async { is_closed = self.stand().await }).await {
                self.office.worker.tasks().note_panic();
            }
            if is_closed {
                break;
            }
            let pause = backoff.lengthen_after(started.elapsed());
            if self.close.run_until_cancelled(sleep(pause)).await.is_none() {
                break;
            }
        }
        drop(self.candidacy);
        self.told.send_replace(Position::Closed);
    }

    /// Stands in the election until the candidate is closed, and returns `true`, or until it is refused.
    async fn stand(&self) -> bool {
        let Err(error) = self.campaign().await else { return true };
        self.told.send_replace(Position::Refused(error.clone()));
        self.candidacy.rejected(&error);
        self.office.report(&error);
        false
    }

    /// Leads in one lease after another until the candidate is closed, or cannot run.
    async fn campaign(&self) -> Result<(), LockError> {
        while let Some(lease) = self.elected().await? {
            // It is no longer refused, although it may not lead yet.
            self.follow(|position| matches!(position, Position::Refused(_)));
            let Some(lease) = self.office.hand_over(&self.close, lease).await else { break };
            let reason = self.hold(&lease).await;
            // The listeners have been told of a loss, and of a release that failed.
            lease.release().await.ok();
            if reason != LossReason::Resigned {
                self.close.run_until_cancelled(sleep(self.office.hold_down)).await;
            }
        }
        Ok(())
    }

    /// Waits to be elected. Publishes `Follows` as soon as the first answer shows others in front.
    async fn elected(&self) -> Result<Option<Lease>, LockError> {
        let (told, mut progress) = watch::channel(Progress::Connecting);
        let queued = async {
            if progress.wait_for(|progress| matches!(progress, Progress::Queued(_))).await.is_ok() {
                self.follow(|position| matches!(position, Position::Starts | Position::Refused(_)));
            }
            std::future::pending().await
        };
        tokio::select! {
            biased;
            elected = self.office.elected(&self.close, (told, self.candidacy.witness())) => elected,
            never = queued => never,
        }
    }

    /// Publishes `Follows` if the present position is one of these.
    fn follow(&self, is_one: impl Fn(&Position) -> bool) {
        self.told.send_if_modified(|position| {
            let is_changed = is_one(position);
            if is_changed {
                *position = Position::Follows;
            }
            is_changed
        });
    }

    /// Leads in one term after another for as long as the lease lasts; returns the reason for its end.
    async fn hold(&self, lease: &Lease) -> LossReason {
        let tenure = lease.tenure();
        let mut nth = 0;
        loop {
            let leadership = Leadership::begin(&self.office, tenure, nth);
            self.told.send_replace(Position::Leads(leadership.clone()));
            leadership.announce(&self.candidacy);
            let reason = tokio::select! {
                biased;
                reason = leadership.unused(&self.close) => reason,
                reason = leadership.ending() => reason,
            };
            self.told.send_replace(Position::Follows);
            leadership.end(reason).await;
            if reason != LossReason::Suspended {
                return reason;
            }
            let again = async {
                tenure.confirmed().await;
                sleep(self.office.hold_down).await;
                tenure.confirmed().await;
            };
            tokio::select! {
                biased;
                () = self.close.cancelled() => return LossReason::Resigned,
                reason = tenure.lost() => return reason,
                () = again => nth += 1,
            }
        }
    }
}
