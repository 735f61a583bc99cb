//! The position that candidates run for, and their election to it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::acquire;
use crate::client::worker::{Backoff, Worker};
use crate::error::LockError;
use crate::events::{Candidacy, Witness};
use crate::hold::LockRef;
use crate::lease::Lease;
use crate::participant::{self, Participant, Standing};
use crate::session::drive::Progress;

/// The reaction of a leader to a broken connection, which does not yet mean that leadership is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// Give up leadership at once: every short outage and every restart of the leader's server ends a term
    /// (Curator's `StandardConnectionStateErrorPolicy`, its default).
    GiveUpWhenSuspended,
    /// Keep leading until leadership is lost, or until the lease clock runs out, which is the default
    /// (`SessionConnectionStateErrorPolicy`).
    ///
    /// A leader outlives the silence or the restart of its server. No two candidates lead at the same time,
    /// because the lease ends before the session can expire.
    #[default]
    GiveUpWhenLost,
}

/// Whether a selector runs again after a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requeue {
    WhenAsked,
    Always,
}

/// The position that one candidate runs for, with the settings of the candidate.
#[derive(Clone)]
pub(super) struct Office {
    pub(super) worker: Arc<Worker>,
    pub(super) lock: LockRef,
    pub(super) policy: Policy,
    pub(super) hold_down: Duration,
    pub(super) handover: Duration,
    pub(super) requeue: Requeue,
}

impl Office {
    pub(super) fn path(&self) -> &str {
        self.lock.path.relative()
    }

    /// Fails if this process is a fork of the candidate's.
    pub(super) fn check(&self) -> Result<(), LockError> {
        if self.worker.tasks().is_forked() { Err(self.worker.closed(&self.lock.path)) } else { Ok(()) }
    }

    /// Joins the election.
    pub(super) fn candidacy(&self) -> Candidacy {
        Candidacy::begin(self.worker.events(), self.lock.subject(None))
    }

    /// Waits for the election, and reports the progress to `told`. The next step is
    /// [`hand_over`](Self::hand_over).
    ///
    /// Returns `None` once `close` is cancelled and the contender is withdrawn.
    pub(super) async fn elected(
        &self,
        close: &CancellationToken,
        (told, witness): (watch::Sender<Progress>, Witness),
    ) -> Result<Option<Lease>, LockError> {
        let (path, wanted) = (&self.lock.path, self.lock.wanted.clone());
        let tell = acquire::teller(witness);
        let told = move |progress: Progress| {
            tell(progress.clone());
            if !matches!(progress, Progress::Behind(_)) {
                told.send_replace(progress);
            }
        };
        match acquire::contend_boxed(close, &self.worker, path, wanted, Arc::new(told)).await {
            Err(LockError::Closed { .. }) => Ok(None),
            leases => Ok(leases?.into_iter().flatten().next()),
        }
    }

    /// Waits for the handover pause. Returns `None` once `close` is cancelled and the contender is withdrawn.
    pub(super) async fn hand_over(&self, close: &CancellationToken, lease: Lease) -> Option<Lease> {
        if !self.handover.is_zero() {
            tokio::select! {
                () = close.cancelled() => {}
                _ = lease.tenure().lost() => {}
                () = sleep(self.handover) => {}
            }
        }
        if close.is_cancelled() {
            lease.release().await.ok();
            return None;
        }
        Some(lease)
    }

    /// Reports a refusal, after which the candidate tries again.
    pub(super) fn report(&self, error: &LockError) {
        tracing::error!(path = self.path(), %error, "a candidate cannot run, and tries again after a pause");
    }

    pub(super) async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        participant::list(&self.worker, &self.lock).await
    }

    pub(super) async fn leader(&self) -> Result<Option<Participant>, LockError> {
        let participants = self.participants().await?;
        Ok(participants.into_iter().find(|participant| participant.standing == Standing::Holds))
    }
}

/// Returns the pauses before a candidate runs again after failures.
pub(super) fn backoff() -> Backoff {
    Backoff::new(Duration::from_millis(100), Duration::from_secs(30))
}
