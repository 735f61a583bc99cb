//! Sessions without a server, whose events a test makes.

use std::sync::Arc;
use std::time::Duration;

use super::acl::NodeAcls;
use super::clock::Instant;
use super::clock::{Ack, LeaseClock, Terms};
use super::own_node::{News, OwnNode, Seen};
use super::request_error::RequestError;
use super::requests::Requests;
use super::{Health, Heartbeat, Session};

impl Session {
    /// Returns a session that is connected, with a lease of about a minute, and answers no request.
    pub(crate) fn staged(id: i64) -> Arc<Self> {
        let session = Self::staged_without_lease(id);
        let clock = session.clock();
        clock.answered(Ack::Write, Instant::now(), &Ok::<(), RequestError>(()));
        session
    }

    /// Returns a session whose lease clock has run out.
    pub(crate) fn staged_without_lease(id: i64) -> Arc<Self> {
        let timing = (Duration::from_secs(2), Duration::from_secs(4));
        let terms = Terms::new(Duration::from_secs(120), timing, Heartbeat::default()).expect("valid terms");
        let clock = LeaseClock::since(Instant::now(), terms);
        Self::new(id, 1, Requests::staged(clock, NodeAcls::default()))
    }

    /// Breaks the connection.
    pub(crate) fn suspend(&self) {
        self.tell(|link| link.health = Health::Suspended);
    }

    /// Restores the connection before anybody has missed it.
    pub(crate) fn restore(&self) {
        self.tell(|link| link.health = Health::Connected);
    }

    /// Ends the session.
    pub(crate) fn end(&self) {
        self.tell_lost();
        self.closed.cancel();
    }

    /// Returns the number of leases that have not ended.
    pub(crate) fn leases(&self) -> usize {
        *self.leases.borrow()
    }
}

impl OwnNode {
    /// Begins with a list that shows others, or none.
    pub(crate) fn stage(&self, others: usize) {
        self.begin(if others == 0 { Seen::Alone } else { Seen::Others });
    }

    /// Begins to watch over the own node.
    pub(crate) fn watch(&self) {
        self.note(|news| news.is_watched = true);
    }

    /// Tells of another contender.
    pub(crate) fn meet(&self) {
        self.note(News::meet);
    }
}
