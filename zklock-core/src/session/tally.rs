//! Counts the requests and the connections of a client's sessions, but not the client library's own packets.

use std::sync::atomic::{AtomicU64, Ordering};

use super::clock::Ack;

/// The counts of all sessions of one client.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    reads: AtomicU64,
    writes: AtomicU64,
    sessions: AtomicU64,
    reconnects: AtomicU64,
}

impl Tally {
    /// Counts a request, such as a transaction, when it has ended with an answer or a failure.
    pub(super) fn note_request(&self, kind: Ack) {
        let count = match kind {
            Ack::Read => &self.reads,
            Ack::Write => &self.writes,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_session(&self) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_reconnect(&self) {
        self.reconnects.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(feature = "metrics")]
impl Tally {
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    pub(crate) fn sessions(&self) -> u64 {
        self.sessions.load(Ordering::Relaxed)
    }

    pub(crate) fn reconnects(&self) -> u64 {
        self.reconnects.load(Ordering::Relaxed)
    }
}
