//! What a broken connection leaves in doubt, and how the servers settle it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::error::LossReason;
use crate::session::fault::Fault;
use crate::session::{Health, Ownership};

use super::state::LeaseState;
use super::tenure::Tenure;

impl Tenure {
    /// Asks the servers whether the node is still there and ours.
    pub(crate) async fn verify(&self) -> Result<(), Fault> {
        let node = self.node().await;
        let epoch = self.session.link().epoch;
        let owner = self.session.ops().owner(&node).await?;
        match Ownership::of(owner, self.session.id()) {
            // Of two verifications at a time, the one of the later epoch stands.
            Ownership::Ours => {
                self.epoch.fetch_max(epoch, Ordering::AcqRel);
            }
            Ownership::Foreign => {
                self.lose(LossReason::OwnerChanged);
            }
            Ownership::Gone => {
                self.lose(LossReason::NodeDeleted);
            }
        }
        Ok(())
    }

    /// Waits until the connection is in doubt.
    pub(crate) async fn suspended(&self) {
        let mut links = self.session.links();
        while self.state() == LeaseState::Held {
            if links.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until the connection is in doubt no more; for ever if the lease is lost instead.
    pub(crate) async fn confirmed(&self) {
        let mut links = self.session.links();
        while self.state() != LeaseState::Held {
            match self.session.link().health {
                Health::Connected => {}
                Health::Suspended | Health::Lost => {
                    links.changed().await.ok();
                    continue;
                }
            }
            self.settle().await;
            if self.loss().is_some() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Verifies until the servers answered, or the session is over.
    pub(crate) async fn settle(&self) {
        while let Err(fault) = self.verify().await {
            if let Fault::SessionOver = fault {
                self.lose(LossReason::SessionEnded);
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Between attempts to verify a lease.
const PAUSE: Duration = Duration::from_millis(100);
