//! What candidates run for.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::acquire;
use crate::client::worker::Worker;
use crate::error::LockError;
use crate::hold::Door;
use crate::lease::Lease;
use crate::participant::{self, Participant, Standing};
use crate::session::drive::Progress;

/// What a leader does when the connection breaks, which does not mean yet that it lost the office.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// Give up at once: no two leaders, but a term ends with every short outage (Curator's
    /// `StandardConnectionStateErrorPolicy`).
    #[default]
    GiveUpWhenSuspended,
    /// Go on until the office is lost or may be, by the lease clock (`SessionConnectionStateErrorPolicy`).
    GiveUpWhenLost,
}

/// Whether a selector runs again after a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requeue {
    WhenAsked,
    Always,
}

/// What one candidate runs for.
#[derive(Clone)]
pub(super) struct Office {
    pub(super) worker: Arc<Worker>,
    pub(super) door: Door,
    pub(super) policy: Policy,
    pub(super) hold_down: Duration,
    pub(super) handover: Duration,
    pub(super) requeue: Requeue,
}

impl Office {
    pub(super) fn path(&self) -> &str {
        self.door.path.relative()
    }

    /// Waits to be elected; `None` once `close` is cancelled and nothing is left of the candidate. `told` is told
    /// how far that is.
    pub(super) async fn elected(
        &self,
        close: &CancellationToken,
        told: watch::Sender<Progress>,
    ) -> Result<Option<Lease>, LockError> {
        let (path, wanted) = (&self.door.path, self.door.wanted.clone());
        let lease = match acquire::acquire_unless(close, &self.worker, path, wanted, told).await {
            Err(LockError::Closed { .. }) => None,
            leases => leases?.into_iter().flatten().next(),
        };
        if let Some(lease) = &lease
            && !self.handover.is_zero()
        {
            tokio::select! {
                () = close.cancelled() => {}
                _ = lease.tenure().lost() => {}
                () = sleep(self.handover) => {}
            }
        }
        match lease {
            Some(lease) if close.is_cancelled() => {
                lease.release().await.ok();
                Ok(None)
            }
            lease => Ok(lease),
        }
    }

    pub(super) async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        participant::list(&self.worker, &self.door).await
    }

    pub(super) async fn leader(&self) -> Result<Option<Participant>, LockError> {
        let participants = self.participants().await?;
        Ok(participants.into_iter().find(|participant| participant.standing == Standing::Holds))
    }
}
