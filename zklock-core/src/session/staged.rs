//! Sessions without a server, whose events a test makes.

use std::sync::Arc;
use std::time::Duration;

use super::acl::NodeAcls;
use super::clock::Instant;
use super::clock::{Ack, LeaseClock, Terms};
use super::request_error::RequestError;
use super::requests::Requests;
use super::{Heartbeat, Session};

impl Session {
    /// Returns a session that is connected, with a lease of about a minute, and answers no request.
    pub(crate) fn staged(id: i64) -> Arc<Self> {
        let timing = (Duration::from_secs(2), Duration::from_secs(4));
        let terms = Terms::new(Duration::from_secs(120), timing, Heartbeat::default()).expect("valid terms");
        let clock = LeaseClock::since(Instant::now(), terms);
        clock.answered(Ack::Write, Instant::now(), &Ok::<(), RequestError>(()));
        Self::new(id, 1, Requests::staged(clock, NodeAcls::default()))
    }
}
