//! The records of all processes, and the calls and holds that follow from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::history::{
    Call, CallId, Campaign, Hold, Life, Process, Record, Rule, Violation, collect, derive, life,
};

/// The merged records of all processes of a campaign.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// All records, by their time.
    pub(crate) records: Vec<Record>,
    calls: BTreeMap<CallId, Call>,
    /// The records of calls that never asked, and second requests of a call.
    pub(crate) strays: Vec<Record>,
    /// The events of the campaign itself.
    pub(crate) campaign: Campaign,
    /// All holds, by the time of their grants.
    pub(crate) holds: Vec<Hold>,
}

impl History {
    /// Merges records. Those of one call must come in the order in which they were written.
    ///
    /// Any records make a history. The check of outcomes reports those that contradict each
    /// other.
    pub(crate) fn new(records: impl IntoIterator<Item = Record>) -> Self {
        let mut records: Vec<_> = records.into_iter().collect();
        records.sort_by_key(|record| record.at);
        let campaign = Campaign::collect(&records);
        let (calls, strays) = collect(&records);
        let last = records.last().map_or(0, |record| record.at);
        let holds = derive(&calls, &campaign, last);
        Self { records, calls, strays, campaign, holds }
    }

    /// Returns all calls, by process, task and number.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.values()
    }

    /// Returns a call.
    pub(crate) fn call(&self, id: CallId) -> Option<&Call> {
        self.calls.get(&id)
    }

    /// Returns a violation that the lives of these calls show.
    pub(crate) fn violation(
        &self,
        rule: Rule,
        text: String,
        calls: impl IntoIterator<Item = CallId>,
    ) -> Violation {
        let calls = calls.into_iter().filter_map(|id| self.call(id));
        Violation::new(rule, text, calls.flat_map(|call| life(&call.records)))
    }

    /// Returns the holds of each lock, by the time of their grants.
    pub(crate) fn holds_by_lock(&self) -> BTreeMap<Arc<str>, Vec<&Hold>> {
        let mut locks = BTreeMap::<_, Vec<_>>::new();
        for hold in &self.holds {
            locks.entry(hold.lock.clone()).or_default().push(hold);
        }
        locks
    }

    /// Returns the life of a process, which is empty if the campaign wrote nothing of it.
    pub(crate) fn life(&self, process: Process) -> &Life {
        static UNWRITTEN: Life = Life {
            killed: None,
            exited: None,
            stops: Vec::new(),
            stalls: Vec::new(),
            sessions_ended: Vec::new(),
        };
        self.campaign.lives.get(&process).unwrap_or(&UNWRITTEN)
    }

    /// Returns the time of the last record, or 0 if there is none.
    pub(crate) fn end(&self) -> u64 {
        self.records.last().map_or(0, |record| record.at)
    }
}
