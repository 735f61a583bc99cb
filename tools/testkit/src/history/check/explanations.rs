//! Calls that wait in vain for a reason that zklock cannot help.

use super::super::call::Call;
use super::super::campaign::Stand;
use super::super::merged::History;
use super::bounds::Bounds;
use super::expiry::Expiry;

/// The reasons for which calls of a history may have waited in vain.
///
/// The servers differed about the queue of the lock while the call waited, or within [`Bounds::recovery`] before. They
/// stopped so often that the session of a dead process that had used the lock may not have ended. A node of Curator had
/// been in the queue for long while the call waited.
pub(super) struct Explanations<'a> {
    history: &'a History,
    bounds: &'a Bounds,
    expiry: Expiry<'a>,
}

impl<'a> Explanations<'a> {
    pub(super) fn of(history: &'a History, bounds: &'a Bounds) -> Self {
        Self { history, bounds, expiry: Expiry::of(history, bounds) }
    }

    /// Returns whether one of the reasons explains that a call had waited in vain until this time.
    pub(super) fn explain(&self, call: &Call, until: u64) -> bool {
        self.is_disputed(call, until)
            || self.is_behind_curator(call, until)
            || self.expiry.explains(call, until)
    }

    /// Returns whether the servers differed about the queue of the lock. Other calls may get the lock meanwhile.
    pub(super) fn is_disputed(&self, call: &Call, until: u64) -> bool {
        let differences = self.history.campaign().differences.get(&*call.asked.lock);
        let explains = |at: &u64| *at <= until && call.asked.at < at.saturating_add(self.bounds.recovery);
        differences.is_some_and(|times| times.iter().any(explains))
    }

    fn is_behind_curator(&self, call: &Call, until: u64) -> bool {
        let nodes = self.history.campaign().of_curator.get(&*call.asked.lock);
        let explains = |stand: &Stand| call.asked.at <= stand.last && stand.first <= until;
        nodes.is_some_and(|nodes| nodes.values().any(explains))
    }
}
