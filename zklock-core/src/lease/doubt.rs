//! Verifies leases that a broken connection has put in doubt.

use std::future::pending;
use std::time::Duration;

use crate::error::LossReason;
use crate::session::fault::Fault;

use super::state::LeaseState;
use super::tenure::Tenure;

impl Tenure {
    /// Asks the servers whether the node still exists and belongs to this session.
    pub(crate) async fn verify(&self) -> Result<(), Fault> {
        let node = self.node().await;
        let connection = self.session.link().connection;
        match self.session.ops().present_stat(&node).await? {
            Some(stat) if stat.owner == self.session.id() => self.sentry.note_seen(connection),
            Some(_) => drop(self.lose(LossReason::OwnerChanged)),
            None => drop(self.lose(LossReason::NodeDeleted)),
        }
        Ok(())
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
            tokio::select! {
                biased;
                _ = self.lost() => pending::<()>().await,
                changed = links.changed() => if changed.is_err() { pending::<()>().await },
                () = self.sentry.until(|_| self.is_confirmed()) => {}
            }
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
