//! Whether a lease is confirmed, and whether it can go from one holder to the next.

use std::future::pending;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::error::LossReason;
use crate::session::request_error::RequestError;
use crate::time::sleep;

use super::state::{Lease, LeaseState};

/// Whether a lease can go from one holder to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    /// It is not known yet.
    Pending(Pending),
    /// It never can again.
    Over,
}

/// The reason why it is not known whether a lease can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// The connection broke, and the servers have not confirmed the lease since.
    Connection,
    /// The lease runs out before the next heartbeat.
    Proof,
    /// A deletion of the node would go unnoticed. The first holder need not wait for that: its node was just seen.
    Watch,
}

impl Lease {
    /// Returns whether the lease can go on. It does not notice a loss.
    pub(crate) fn readiness(&self) -> Readiness {
        let clock = self.session.clock();
        let remaining = clock.remaining();
        let is_lost = self.loss().is_some() || self.session.is_over() || remaining.is_zero();
        let news = self.own_node.news();
        if is_lost || news.is_asked {
            return Readiness::Over;
        }
        if !self.is_confirmed() {
            Readiness::Pending(Pending::Connection)
        } else if remaining < clock.terms().heartbeat() {
            Readiness::Pending(Pending::Proof)
        } else if !news.is_watched && self.is_granted.load(Ordering::Acquire) {
            Readiness::Pending(Pending::Watch)
        } else {
            Readiness::Ready
        }
    }

    /// Returns since when other clients may wait for the lock.
    pub(crate) fn company(&self) -> Option<Instant> {
        self.own_node.news().company
    }

    /// Waits until other clients may wait for the lock.
    pub(crate) async fn accompanied(&self) {
        self.own_node.until(|news| news.company.is_some()).await;
    }

    /// Notices without delay if the node is deleted, because calls in line rely on it.
    pub(crate) fn urge(&self) {
        self.own_node.note(|news| news.is_urged = true);
    }

    /// Waits until it is known whether the lease can go on. Must run on the client's thread.
    async fn known(&self) {
        loop {
            let Readiness::Pending(reason) = self.readiness() else { return };
            let news = async {
                match reason {
                    Pending::Connection => self.confirmed().await,
                    Pending::Proof => self.prove().await,
                    Pending::Watch => self.own_node.until(|news| news.is_watched).await,
                }
            };
            tokio::select! {
                biased;
                _ = self.lost() => return,
                () = self.session.over() => return,
                () = self.suspended_beside(reason) => {}
                () = news => {}
            }
        }
    }

    /// Waits until it is known whether the lease can go on, and until no guarded write is under way. Must run on the
    /// client's thread.
    pub(crate) async fn passable(&self) {
        self.urge();
        self.known().await;
        tokio::select! {
            _ = self.writes().drained() => {}
            _ = self.lost() => {}
        }
    }

    /// Waits until the connection breaks, unless that is the reason to wait already.
    async fn suspended_beside(&self, reason: Pending) {
        match reason {
            Pending::Connection => pending().await,
            Pending::Proof | Pending::Watch => self.suspended().await,
        }
    }

    async fn prove(&self) {
        let kind = self.session.clock().terms().heartbeat_kind();
        match self.session.requests().heartbeat(kind).await {
            // After a silence, only later answers prove more.
            Ok(()) if self.session.clock().remaining() >= self.session.clock().terms().heartbeat() => {}
            Ok(()) | Err(_) => sleep(PAUSE).await,
        }
    }
}

impl Lease {
    /// Asks the servers whether the node still exists and belongs to this session.
    pub(crate) async fn verify(&self) -> Result<(), RequestError> {
        loop {
            let node = self.node().await;
            let connection = self.session.link().connection;
            match self.session.requests().present_stat(&node).await? {
                Some(stat) if stat.owner == self.session.id() => self.own_node.note_seen(connection),
                Some(_) => drop(self.lose(LossReason::OwnerChanged)),
                // A downgrade has replaced it meanwhile.
                None if *self.node().await != *node => continue,
                None => drop(self.lose(LossReason::NodeDeleted)),
            }
            return Ok(());
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
            tokio::select! {
                biased;
                _ = self.lost() => pending::<()>().await,
                changed = links.changed() => if changed.is_err() { pending::<()>().await },
                () = self.own_node.until(|_| self.is_confirmed()) => {}
            }
        }
    }

    /// Verifies the lease until the servers have answered, or the session is over.
    pub(crate) async fn settle(&self) {
        while let Err(error) = self.verify().await {
            if let RequestError::SessionOver = error {
                self.lose(LossReason::SessionEnded);
                return;
            }
            sleep(PAUSE).await;
        }
    }
}

/// The pause between attempts to verify a lease.
const PAUSE: Duration = Duration::from_millis(100);

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
        let lease = guard.holds()[0].lease();
        let mut suspended = pin!(lease.suspended());
        assert!(poll!(&mut suspended).is_pending());
        lease.lose(LossReason::NodeDeleted);
        timeout(Duration::from_secs(1), suspended).await.expect("the lease is lost");
    }
}
