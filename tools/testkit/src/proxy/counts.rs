//! The counts of the frames and connections that arrive at a proxy.

use std::collections::BTreeMap;
use std::ops::Sub;

use super::trigger::Kind;
use crate::wire::Opcode;

/// The numbers of frames and connections that have arrived at a proxy.
///
/// A frame is counted when it arrives, even if a fault strikes it. The first frame of a connection and its
/// answer are counted as [`Opcode::CREATE_SESSION`].
///
/// The difference of two counts covers the time between them.
///
/// ```no_run
/// # use zklock_testkit::{Proxy, wire::Opcode};
/// # fn take_the_lock() {}
/// # fn example(proxy: &Proxy) {
/// let before = proxy.counts();
/// take_the_lock();
/// let spent = proxy.counts() - before;
/// assert_eq!(spent.requests(Opcode::CREATE2), 1);
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    connections: u64,
    requests: BTreeMap<Opcode, u64>,
    replies: BTreeMap<Opcode, u64>,
    unasked: u64,
    notifications: u64,
}

impl Counts {
    /// Returns the number of requests with this opcode.
    pub fn requests(&self, opcode: Opcode) -> u64 {
        self.requests.get(&opcode).copied().unwrap_or_default()
    }

    /// Returns the number of requests, including pings and the first frames of connections.
    pub fn requests_total(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Returns the number of replies to requests with this opcode.
    pub fn replies(&self, opcode: Opcode) -> u64 {
        self.replies.get(&opcode).copied().unwrap_or_default()
    }

    /// Returns the number of replies, including those to pings and the first frames of connections.
    pub fn replies_total(&self) -> u64 {
        self.replies.values().sum::<u64>() + self.unasked
    }

    /// Returns the number of watch events.
    pub fn notifications(&self) -> u64 {
        self.notifications
    }

    /// Returns the number of accepted connections, including ended ones but not refused ones.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    pub(super) fn connected(&mut self) {
        self.connections += 1;
    }

    pub(super) fn arrived(&mut self, kind: Kind) {
        let count = match kind {
            Kind::Request(opcode) => self.requests.entry(opcode).or_default(),
            Kind::Reply(opcode) | Kind::Created(opcode) | Kind::Refusal(opcode) => {
                self.replies.entry(opcode).or_default()
            }
            Kind::Unasked => &mut self.unasked,
            Kind::Notification => &mut self.notifications,
        };
        *count += 1;
    }
}

impl Sub for Counts {
    type Output = Self;

    /// Returns the counts since `earlier`, each of which is zero if it is greater in `earlier`.
    fn sub(self, earlier: Self) -> Self {
        let since = |now: BTreeMap<Opcode, u64>, then: BTreeMap<Opcode, u64>| {
            let rest = |(opcode, count): (Opcode, u64)| {
                (opcode, count.saturating_sub(then.get(&opcode).copied().unwrap_or_default()))
            };
            now.into_iter().map(rest).filter(|(_, count)| *count > 0).collect()
        };
        Self {
            connections: self.connections.saturating_sub(earlier.connections),
            requests: since(self.requests, earlier.requests),
            replies: since(self.replies, earlier.replies),
            unasked: self.unasked.saturating_sub(earlier.unasked),
            notifications: self.notifications.saturating_sub(earlier.notifications),
        }
    }
}
