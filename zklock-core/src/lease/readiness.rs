//! Whether a lease is confirmed, and whether it can go from one holder to the next.

use std::time::{Duration, Instant};

use crate::error::LossReason;
use crate::session::request_error::RequestError;
use crate::time::sleep;

use super::state::{Lease, LeaseState};
use super::writes::Writing;

/// Whether a lease can go from one holder to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Readiness {
    Ready,
    /// It is not known yet: the servers have not confirmed the lease since the connection broke, or a guarded write is under
    /// way.
    Pending,
    /// It never can again: its holder was asked to release, or a write of unknown outcome may still be applied.
    Over,
    /// The lease is lost.
    Lost,
}

/// The state of a lease at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Look {
    pub(crate) readiness: Readiness,
    /// Since when other clients may wait for the lock.
    pub(crate) contended_since: Option<Instant>,
}

impl Look {
    /// Returns the state of this lease and another one, which are passed on together.
    pub(crate) fn beside(self, other: Self) -> Self {
        Self {
            readiness: self.readiness.max(other.readiness),
            contended_since: self.contended_since.into_iter().chain(other.contended_since).min(),
        }
    }
}

impl Lease {
    /// Looks whether the lease can go on. It does not notice a loss.
    pub(crate) fn look(&self) -> Look {
        let news = self.own_node.news();
        let readiness = match self.writing() {
            _ if self.present_loss().is_some() => Readiness::Lost,
            _ if news.is_asked => Readiness::Over,
            Writing::Doubtful => Readiness::Over,
            Writing::UnderWay => Readiness::Pending,
            Writing::Idle if self.session.link().is_on(news.connection) => Readiness::Ready,
            Writing::Idle => Readiness::Pending,
        };
        Look { readiness, contended_since: news.contended_since }
    }

    /// Notices without delay if the node is deleted, because calls in line rely on it.
    pub(crate) fn urge(&self) {
        self.own_node.note(|news| news.is_urged = true);
    }

    /// Notices without delay if other contenders wait, unless that is known.
    pub(crate) fn look_for_others(&self) {
        self.own_node.note(|news| news.is_urged |= news.contended_since.is_none());
    }

    /// Waits until the lease is suspended or lost.
    pub(crate) async fn suspended(&self) {
        self.until(|| self.state() != LeaseState::Held).await;
    }

    /// Waits until the lease is confirmed. Waits forever if it is lost instead.
    pub(crate) async fn confirmed(&self) {
        self.until(|| self.state() == LeaseState::Held).await;
    }

    /// Waits until this is so, which depends on the lease, its connection, and its writes.
    pub(crate) async fn until(&self, is_so: impl Fn() -> bool) {
        let mut links = self.session.links();
        while !is_so() {
            tokio::select! {
                biased;
                () = self.changed().until(|| is_so().then_some(())) => {}
                Ok(()) = links.changed() => {}
            }
        }
    }

    /// Asks the servers whether the node still exists and belongs to this session, until they have answered, or the session
    /// is over.
    pub(crate) async fn settle(&self) {
        loop {
            let node = self.node().await;
            let connection = self.session.link().connection;
            let loss = match self.session.requests().present_stat(&node).await {
                Ok(Some(own)) if own.ephemeral_owner == self.session.id() => {
                    return self.own_node.note_seen(connection);
                }
                Ok(Some(_)) => LossReason::OwnerChanged,
                // The lock was given back, which deletes it, as does the end of the session.
                Ok(None) | Err(RequestError::SessionOver) if !self.is_claimed() => return,
                // A downgrade has replaced it meanwhile.
                Ok(None) if *self.node().await != *node => continue,
                Ok(None) => LossReason::NodeDeleted,
                Err(RequestError::SessionOver) => LossReason::SessionEnded,
                Err(_) => {
                    sleep(PAUSE).await;
                    continue;
                }
            };
            self.lose(loss);
            return;
        }
    }
}

/// The pause between attempts to verify a lease.
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::poll;
    use zklock_testkit::How;
    use zklock_testkit::wire::Opcode;

    use crate::client::{connected, proxied, soon};
    use crate::session::{Health, Link};

    use super::*;

    #[tokio::test]
    async fn a_write_that_begins_before_the_lease_is_confirmed_is_waited_for_until_it_ends() {
        let (_server, proxy, client) = proxied().await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let (lease, mut links) = (guard.holds()[0].lease(), guard.holds()[0].lease().session().links());
        let looks = proxy.on_reply(Opcode::GET_DATA).hold();
        proxy.cut(How::Rst);
        soon(lease.suspended()).await;
        let mut passable = pin!(lease.until(|| lease.look().readiness != Readiness::Pending));
        let is_back = |link: &Link| link.connection > 1 && link.health == Health::Connected;
        tokio::select! {
            () = &mut passable => panic!("the lease is not confirmed"),
            back = soon(links.wait_for(is_back)) => drop(back),
        }
        assert!(poll!(&mut passable).is_pending());
        lease.begin_write();
        lease.begin_write();
        looks.release();
        tokio::select! {
            () = &mut passable => panic!("a write is under way"),
            () = soon(lease.confirmed()) => {}
        }
        assert!(poll!(&mut passable).is_pending());
        lease.end_write();
        assert!(poll!(&mut passable).is_pending());
        lease.doubt_write();
        lease.end_write();
        soon(passable).await;
        assert_eq!(lease.look().readiness, Readiness::Over);
    }

    #[tokio::test]
    async fn a_node_that_was_deleted_by_its_release_is_no_loss_to_a_verification() {
        let (_server, client) = connected().await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let lease = guard.holds()[0].lease().clone();
        guard.release().await.unwrap();
        soon(lease.settle()).await;
        assert_eq!(lease.loss(), None);
    }

    #[tokio::test]
    async fn a_lease_that_is_lost_while_the_connection_is_healthy_is_not_waited_for() {
        let (_server, client) = connected().await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let lease = guard.holds()[0].lease();
        let mut suspended = pin!(lease.suspended());
        assert!(poll!(&mut suspended).is_pending());
        lease.lose(LossReason::NodeDeleted);
        soon(suspended).await;
    }
}
