//! Contenders that enter several queues at once, all or none.
//!
//! One transaction creates all of them. If it is the turn of each, all locks are held after one round trip. Otherwise
//! one transaction deletes them. A contender that waited in one queue would be in the way of others in the other
//! queues, and two such calls could wait for each other.

use std::iter;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::queue::acquisition::{Action, End, Node};
use crate::queue::contender::Sequence;
use crate::session::Session;
use crate::session::ops::{Entrance, Entry, Flight, Member, Newcomer};

use super::{Bid, Driver, Outcome};

/// The contenders of one call in several queues.
pub(crate) struct Convoy {
    session: Arc<Session>,
    /// In the order of the paths of their queues.
    drivers: Vec<Driver>,
}

impl Convoy {
    /// Returns the contenders for these bids, which must be in the order of their paths.
    pub(crate) fn new(session: &Arc<Session>, bids: impl Iterator<Item = Bid>) -> Self {
        let drivers = bids.map(|bid| Driver::new(session.clone(), bid)).collect();
        Self { session: session.clone(), drivers }
    }

    /// Enters all queues, and leaves them unless it is the turn of each contender at once.
    ///
    /// Requests under way are never abandoned: `cancel` takes effect between requests.
    pub(crate) async fn acquire(&mut self, cancel: &CancellationToken) -> Outcome<Vec<Node>> {
        self.enter(cancel).await;
        if self.drivers.iter().all(|driver| driver.action == Action::Prepare) {
            // The servers remove unused queues.
            join_all(self.drivers.iter_mut().map(|driver| driver.proceed(cancel))).await;
        }
        // Nothing happens here unless the first transaction was refused because of missing queues or another client.
        self.enter(cancel).await;
        join_all(self.drivers.iter_mut().map(|driver| driver.find_place(cancel))).await;
        match self.confirm(cancel).await {
            Some(nodes) => Outcome::Held(nodes),
            None => self.leave(cancel).await,
        }
    }

    pub(crate) fn into_drivers(self) -> Vec<Driver> {
        self.drivers
    }

    /// Creates all contenders by one transaction, if all are to be created.
    async fn enter(&mut self, cancel: &CancellationToken) {
        if !self.drivers.iter().all(|driver| matches!(driver.action, Action::Enter(_))) {
            return;
        }
        let lists =
            self.drivers.iter_mut().filter_map(|driver| driver.lists_on_entry().then_some(&driver.path));
        let passage = self.session.traffic().pass_with_lists(lists);
        let Some(passage) = cancel.run_until_cancelled(passage).await else { return };
        let prospects: Vec<_> = self.drivers.iter_mut().map(Driver::set_out).collect();
        let members = iter::zip(&self.drivers, &prospects).map(|(driver, prospect)| driver.member(*prospect));
        let members: Vec<_> = members.collect();
        let entered = self.session.ops().enter_together(&members, self.session.id()).await;
        let entries = match entered {
            Entrance::Entered(entries) => entries,
            // The numbers of the last contenders are forgotten.
            Entrance::Overtaken => return,
            Entrance::Failed(fault) => members.iter().map(|_| Entry::failed(fault.clone())).collect(),
        };
        drop(passage);
        let arrivals = iter::zip(&mut self.drivers, iter::zip(entries, prospects));
        join_all(arrivals.map(|(driver, (entry, (last, _)))| {
            let event = driver.arrived(entry, last);
            driver.feed(event)
        }))
        .await;
    }

    /// Returns the nodes if it is certainly the turn of all contenders.
    async fn confirm(&mut self, cancel: &CancellationToken) -> Option<Vec<Node>> {
        let nodes = self.drivers.iter().map(|driver| match &driver.action {
            Action::Hold(node) => Some(node.clone()),
            _ => None,
        });
        let nodes = nodes.collect::<Option<Vec<_>>>()?;
        let confirmed = iter::zip(&mut self.drivers, &nodes).map(async |(driver, node)| {
            let Some(event) = driver.confirm(node, cancel).await else { return true };
            driver.feed(event).await;
            false
        });
        join_all(confirmed).await.into_iter().all(|is_confirmed| is_confirmed).then_some(nodes)
    }

    /// Withdraws all contenders.
    ///
    /// The outcome is a refusal if a contender may not be withdrawn. A refusal to create one leaves nothing behind, and
    /// counts as contention.
    async fn leave(&mut self, cancel: &CancellationToken) -> Outcome<Vec<Node>> {
        let nodes: Vec<_> = self.drivers.iter_mut().flat_map(Driver::depart).collect();
        if self.session.delete_together(&nodes).await {
            self.drivers.iter_mut().for_each(Driver::note_deleted);
        }
        let mut stuck = None;
        for (end, driver) in
            join_all(self.drivers.iter_mut().map(async |driver| (driver.withdraw().await, driver))).await
        {
            match end {
                End::Lost => return Outcome::SessionLost,
                End::Abandoned => stuck = stuck.or_else(|| driver.refusal()),
                End::Withdrawn | End::Unnumbered | End::Mixed(_) => {}
            }
        }
        match stuck {
            Some(refusal) => Outcome::Refused(refusal),
            None if cancel.is_cancelled() => Outcome::Cancelled,
            None => Outcome::Contended,
        }
    }
}

impl Driver {
    /// Describes the contender to be created, with the requests of its flight.
    fn member(&self, (last, flight): (Option<Sequence>, Flight)) -> Member<'_> {
        let (id, role) = (self.machine.id(), self.machine.claim().role());
        let newcomer = Newcomer { dir: self.path.full(), id, role, data: &self.data };
        Member { newcomer, flight, expected: last.and_then(Sequence::next) }
    }

    /// Goes on until it is the contender's turn, others are in front of it, or there is none.
    async fn find_place(&mut self, cancel: &CancellationToken) {
        let is_there =
            |action: &Action| matches!(action, Action::Hold(_) | Action::Watch(_) | Action::Finish(_));
        while !is_there(&self.action) && !cancel.is_cancelled() {
            self.proceed(cancel).await;
        }
    }
}

impl Session {
    /// Deletes these nodes by one transaction. Returns `false` if there are too few or too many for that, or if they may
    /// still exist.
    pub(crate) async fn delete_together(&self, nodes: &[String]) -> bool {
        if nodes.len() < 2 || nodes.len() > MOST_NODES {
            return false;
        }
        let passage = self.traffic().pass().await;
        let deleted = self.ops().delete_together(nodes).await;
        drop(passage);
        deleted.is_ok()
    }
}

/// The number of nodes that are deleted by one transaction.
const MOST_NODES: usize = 64;
