//! Verifies leases that a broken connection has put in doubt.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::LossReason;
use crate::session::fault::Fault;
use crate::session::{Health, Ownership};

use super::state::LeaseState;
use super::tenure::Tenure;

impl Tenure {
    /// Asks the servers whether the node still exists and belongs to this session.
    pub(crate) async fn verify(&self) -> Result<(), Fault> {
        let node = self.node().await;
        let epoch = self.session.link().epoch;
        let stat = self.session.ops().present_stat(&node).await?;
        self.conclude(Ownership::of(stat, self.session.id()), epoch);
        Ok(())
    }

    /// Takes part in the roll call of the current epoch.
    async fn answer_the_roll(&self) -> Result<(), Fault> {
        let node = self.node().await;
        let (session, epoch) = (self.session.clone(), self.session.link().epoch);
        // A task of its own, because the caller may stop polling this future, and others wait for the same roll call.
        let (reply, answer) = oneshot::channel();
        self.tasks.spawn(async move { drop(reply.send(session.ownership(&node, epoch).await)) });
        let ownership = answer.await.unwrap_or_else(|_| Err(Fault::Unknown("the roll call ended".into())))?;
        self.conclude(ownership, epoch);
        Ok(())
    }

    pub(super) fn conclude(&self, ownership: Ownership, epoch: u64) {
        match ownership {
            // Of two concurrent verifications, the one of the later epoch counts.
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
    }

    /// Waits until the lease is suspended or lost.
    pub(crate) async fn suspended(&self) {
        let mut links = self.session.links();
        while self.state() == LeaseState::Held {
            tokio::select! {
                changed = links.changed() => if changed.is_err() { return },
                _ = self.lost() => return,
            }
        }
    }

    /// Waits until the lease is confirmed. Waits forever if it is lost instead.
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
            self.reverify().await;
            if self.loss().is_some() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Verifies the lease once in the current epoch of a restored connection.
    async fn reverify(&self) {
        match self.answer_the_roll().await {
            Ok(()) => {}
            Err(Fault::SessionOver) => {
                self.session.give_up();
                self.lose(LossReason::SessionEnded);
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }

    /// Verifies the lease until the servers have answered, or the session is over.
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

/// The pause between attempts to verify a lease.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::poll;
    use tokio::time::timeout;
    use zklock_testkit::EmbeddedServer;

    use crate::Config;

    use super::*;

    #[tokio::test]
    async fn a_lease_that_is_lost_while_the_connection_is_healthy_is_not_waited_for() {
        let server = EmbeddedServer::start().unwrap();
        let client = Config::new(server.connect_string()).connect().await.unwrap();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let tenure = guard.holds()[0].tenure();
        let mut suspended = pin!(tenure.suspended());
        assert!(poll!(&mut suspended).is_pending());
        tenure.lose(LossReason::NodeDeleted);
        timeout(Duration::from_secs(1), suspended).await.expect("the lease is lost");
    }
}
