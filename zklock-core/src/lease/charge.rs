//! A lease, as the ward of its session watches over it.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use crate::error::LossReason;
use crate::events::Witness;
use crate::queue::contender::Name;
use crate::session::charge::{Charge, Vigil};
use crate::session::sentry::Sentry;
use crate::session::{Health, Link};

use super::nodes::NodeEnd;
use super::tenure::Tenure;

impl Charge for Tenure {
    fn node(&self) -> Option<Name> {
        self.present_node().filter(|_| !self.is_departing())
    }

    fn path(&self, node: &Name) -> String {
        self.node_path(node)
    }

    fn connection(&self) -> u64 {
        self.sentry.connection()
    }

    fn watch(self: Arc<Self>) -> Option<Vigil> {
        let node = Charge::node(&*self)?;
        let mut gone = self.desk.at_rest(|contender| {
            let is_watched = self.is_watched.swap(true, Ordering::AcqRel);
            (!is_watched).then(|| contender.own_node_gone(&self, self.node_path(&node).into()))
        })??;
        let watched = Watched { tenure: self.clone(), node: node.clone() };
        Some(Box::pin(async move {
            let _watched = watched;
            // A watch that fires while the node is being replaced does not count.
            let lost = poll_fn(|context| match self.has_node(&node) {
                true => gone.as_mut().poll(context),
                false => Poll::Pending,
            });
            tokio::select! {
                biased;
                end = self.until_left(&node) => match end {
                    NodeEnd::Departing => {}
                    NodeEnd::Replaced => return None,
                },
                never = self.tell_confirmed() => match never {},
                loss = lost => return Some((node, loss)),
            }
            // The deletion of the node fires the watch. Dropping it earlier would cost a request to remove it.
            self.until_departed().await;
            drop(gone);
            None
        }))
    }

    fn note_health(&self, link: Link) {
        match link.health {
            Health::Suspended => {
                if !self.is_suspended.swap(true, Ordering::AcqRel) {
                    self.tell(Witness::suspended);
                }
            }
            Health::Connected => {
                if link.is_on(self.sentry.connection()) && self.is_suspended.swap(false, Ordering::AcqRel) {
                    self.tell(Witness::confirmed);
                }
            }
            Health::Lost => {}
        }
    }

    fn lose(&self, reason: LossReason) {
        self.lose(reason);
    }
}

impl Tenure {
    /// Tells the listeners whenever the node was seen after the connection broke.
    async fn tell_confirmed(&self) -> Infallible {
        loop {
            let is_news = |_: &Sentry| self.is_suspended.load(Ordering::Acquire) && self.is_confirmed();
            self.sentry.until(is_news).await;
            self.note_health(self.session.link());
        }
    }
}

/// The present node of a lease, which the ward watches until this is dropped.
struct Watched {
    tenure: Arc<Tenure>,
    node: Name,
}

impl Drop for Watched {
    fn drop(&mut self) {
        // The node that has replaced it has a watch of its own.
        if self.tenure.has_node(&self.node) {
            self.tenure.is_watched.store(false, Ordering::Release);
        }
    }
}
