//! The settings of a candidate, as its task and its handles have them. They know none of those, so that there is no cycle.

use std::sync::Arc;
use std::time::Duration;

use crate::client::worker::Worker;
use crate::error::LockError;
use crate::events::Candidacy;
use crate::hold::LockRef;
use crate::participant::{self, Participant, Standing};

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

/// The settings of one candidate.
#[derive(Clone)]
pub(super) struct CandidateConfig {
    pub(super) worker: Arc<Worker>,
    pub(super) lock: LockRef,
    pub(super) policy: Policy,
    pub(super) hold_down: Duration,
    pub(super) handover: Duration,
}

impl CandidateConfig {
    pub(super) fn path(&self) -> &str {
        self.lock.path.relative()
    }

    /// Fails if this process is a fork of the candidate's.
    pub(super) fn check(&self) -> Result<(), LockError> {
        self.worker.check_process(&self.lock.path)
    }

    /// Joins the election.
    pub(super) fn candidacy(&self) -> Candidacy {
        Candidacy::begin(self.worker.events(), self.lock.subject(None))
    }

    pub(super) async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        participant::list(&self.worker, &self.lock).await
    }

    pub(super) async fn leader(&self) -> Result<Option<Participant>, LockError> {
        let participants = self.participants().await?;
        Ok(participants.into_iter().find(|participant| participant.standing == Standing::Holds))
    }
}
