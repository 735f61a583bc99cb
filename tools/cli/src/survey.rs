//! Surveys: one after another with a pause in between, the parts that are not shown, and the access to participants.

use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use tokio::time::{Instant, sleep};
use zklock::{Client, LockError, Survey, Surveyed};

use crate::arguments::Watch;
use crate::exit::Failure;
use crate::output::Output;

/// Surveys the locks below a path again and again. The servers rest for at least as long as they were busy.
#[derive(Debug)]
pub(crate) struct Looks {
    survey: Survey,
    interval: Duration,
    pause: Duration,
}

impl Looks {
    pub(crate) fn new(client: &Client, options: &Watch) -> Result<Self, LockError> {
        let survey = client.survey(&options.path)?.nodes(options.bounds.nodes).depth(options.bounds.depth);
        let survey = survey.participants(options.most);
        Ok(Self { survey, interval: options.interval, pause: Duration::ZERO })
    }

    /// Takes the next survey, after a pause. The first one is taken at once.
    pub(crate) async fn next(&mut self) -> Result<Surveyed, LockError> {
        sleep(self.pause).await;
        let began = Instant::now();
        let surveyed = self.survey.take().await;
        self.pause = self.interval.max(began.elapsed());
        surveyed
    }
}

/// Tells whether another question may have an answer.
pub(crate) fn is_passing(error: &LockError) -> bool {
    matches!(error, LockError::Timeout { .. } | LockError::OutcomeUnknown { .. })
}

/// Fails if a survey of one lock shows no participant, and the servers denied a request for them.
pub(crate) fn check(surveyed: &Surveyed) -> Result<(), Failure> {
    let is_seen = surveyed.locks.iter().any(|lock| !lock.participants.is_empty());
    match &surveyed.denied {
        Some(denied) if !is_seen => Err(denied.clone().into()),
        _ => Ok(()),
    }
}

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
