//! The counts of the frames and connections that arrive at a proxy.

use std::collections::BTreeMap;
use std::ops::Sub;

use super::trigger::{Kind, Matcher};
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
    frames: BTreeMap<Kind, u64>,
}

impl Counts {
    /// Returns the number of requests with this opcode.
    pub fn requests(&self, opcode: Opcode) -> u64 {
        self.sum(Matcher::Request(opcode))
    }

    /// Returns the number of requests, including pings and the first frames of connections.
    pub fn requests_total(&self) -> u64 {
        self.sum(Matcher::AnyRequest)
    }

    /// Returns the number of replies to requests with this opcode.
    pub fn replies(&self, opcode: Opcode) -> u64 {
        self.sum(Matcher::Reply(opcode))
    }

    /// Returns the number of replies, including those to pings and the first frames of connections.
    pub fn replies_total(&self) -> u64 {
        self.sum(Matcher::AnyReply)
    }

    /// Returns the number of watch events.
    pub fn notifications(&self) -> u64 {
        self.sum(Matcher::Notification)
    }

    /// Returns the number of accepted connections, including ended ones but not refused ones.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    pub(super) fn connected(&mut self) {
        self.connections += 1;
    }

    pub(super) fn arrived(&mut self, kind: Kind) {
        *self.frames.entry(kind).or_default() += 1;
    }

    fn sum(&self, matcher: Matcher) -> u64 {
        self.frames.iter().filter(|(kind, _)| matcher.matches(**kind)).map(|(_, count)| count).sum()
    }
}

impl Sub for Counts {
    type Output = Self;

    /// Returns the counts since `earlier`, each of which is zero if it is greater in `earlier`.
    fn sub(mut self, earlier: Self) -> Self {
        self.connections = self.connections.saturating_sub(earlier.connections);
        for (kind, count) in &mut self.frames {
            *count = count.saturating_sub(earlier.frames.get(kind).copied().unwrap_or_default());
        }
        self.frames.retain(|_, count| *count > 0);
        self
    }
}
