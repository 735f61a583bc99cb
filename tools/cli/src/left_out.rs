//! The parts of a survey that are not shown.
//!
//! Uses the floor below: `output`.

use serde::Serialize;
use serde_json::json;
use zklock::Surveyed;

use crate::output::Output;

/// The numbers of the parts that the bounds of a list left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct LeftOut {
    /// Nodes that were not looked at. There may be locks below them.
    nodes: u64,
    /// Participants behind those that were asked for.
    participants: u64,
    /// Locks that a ranking does not have.
    locks: usize,
    /// Waiters that a ranking does not have.
    waiters: usize,
}

impl LeftOut {
    /// Counts what a survey left out that asked for this many participants of each lock.
    pub(crate) fn of(surveyed: &Surveyed, most: u32) -> Self {
        let beyond = surveyed.locks.iter().map(|lock| {
            let all = u64::from(lock.holding) + u64::from(lock.waiting);
            all.saturating_sub(u64::from(most))
        });
        Self { nodes: surveyed.left_out, participants: beyond.sum(), ..Self::default() }
    }

    /// Adds the locks and the waiters that a ranking does not have.
    pub(crate) fn with_ranking(self, locks: usize, waiters: usize) -> Self {
        Self { locks, waiters, ..self }
    }

    /// Returns the numbers that are not zero, as a text.
    pub(crate) fn text(&self) -> Option<String> {
        let Self { nodes, participants, locks, waiters } = *self;
        let counts = [
            (nodes, "nodes"),
            (participants, "participants"),
            (locks as u64, "locks"),
            (waiters as u64, "waiters"),
        ];
        let counted = counts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<_> = counted.map(|(count, word)| format!("{count} {word}")).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Tells of the parts, if there are any.
    pub(crate) fn tell(&self, output: &Output) {
        if let Some(parts) = self.text() {
            let text = format!("left out: {parts}; they are beyond the bounds, or access is denied");
            output.tell(text, &json!({"event": "left_out", "left_out": self}));
        }
    }
}
