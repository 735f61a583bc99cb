//! The sessions of dead processes, which the servers end late if they stop themselves.

use std::collections::HashMap;

use super::super::call::{Call, End};
use super::super::merged::History;
use super::super::source::Process;
use super::bounds::Bounds;

/// The dead processes of a history, and the times for which servers were stopped.
pub(super) struct Expiry<'a> {
    bounds: &'a Bounds,
    /// The last time at which each process used each lock. It still did at its death if that is `None`.
    used: HashMap<(Process, &'a str), Option<u64>>,
    deaths: Vec<(Process, u64)>,
    /// The times for which servers were stopped, by their beginning.
    stops: Vec<(u64, u64)>,
}

impl<'a> Expiry<'a> {
    pub(super) fn of(history: &'a History, bounds: &'a Bounds) -> Self {
        let mut used = HashMap::new();
        for call in history.calls() {
            let last = used.entry((call.id.process, &*call.asked.lock)).or_insert(Some(0));
            *last = last.and_then(|last| Some(ended(call)?.max(last)));
        }
        let lives = history.campaign().lives.iter();
        let deaths = lives.filter_map(|(process, life)| Some((*process, life.killed()?))).collect();
        let faults = history.campaign().faults.iter().filter(|fault| STOPS.contains(&&*fault.kind));
        let stops = faults.map(|fault| (fault.began, fault.ended.unwrap_or(u64::MAX))).collect();
        Self { bounds, used, deaths, stops }
    }

    /// Returns whether a call may have waited for the node of a dead process, until this time. A new leader gives each
    /// session its whole timeout again, so the session of a dead process ends once the servers have not been stopped
    /// for [`Bounds::expiry`].
    pub(super) fn explains(&self, call: &Call, until: u64) -> bool {
        self.deaths.iter().any(|(process, death)| {
            *death <= until
                && self.was_used(*process, &call.asked.lock, *death)
                && !self.could_expire(*death, call.asked.at)
        })
    }

    /// Returns whether a process may have had a node of a lock at its death.
    fn was_used(&self, process: Process, lock: &str, death: u64) -> bool {
        let is_recent =
            |last: &Option<u64>| last.is_none_or(|last| last.saturating_add(self.bounds.slack) >= death);
        self.used.get(&(process, lock)).is_some_and(is_recent)
    }

    /// Returns whether the servers had the time to end a session between these times.
    fn could_expire(&self, from: u64, to: u64) -> bool {
        let mut whole_since = from;
        for (began, ended) in self.stops.iter().filter(|(_, ended)| *ended > from) {
            if *began >= whole_since.saturating_add(self.bounds.expiry) {
                break;
            }
            whole_since = whole_since.max(*ended);
        }
        whole_since.saturating_add(self.bounds.expiry) <= to
    }
}

/// Returns the time of the end of a call, or `None` if it has none.
fn ended(call: &Call) -> Option<u64> {
    call.ends.iter().map(End::at).max()
}

/// The kinds of faults that stop servers, and so may make another one lead.
const STOPS: [&str; 5] = ["kill-server", "kill-leader", "rolling-restart", "silent-server", "full-disk"];
