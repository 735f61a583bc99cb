//! The locks and the waiters that are shown.

use std::cmp::Reverse;

use serde_json::{Value, json};
use zklock::{Participant, Standing, Surveyed, SurveyedLock};

use crate::survey::LeftOut;
use crate::view;

/// The busiest locks, and the longest waiters.
#[derive(Debug)]
pub(super) struct Ranking {
    /// Those with the most waiters first.
    pub(super) locks: Vec<SurveyedLock>,
    /// The paths of locks and their waiters, the one first that entered first.
    pub(super) waiters: Vec<(String, Participant)>,
    pub(super) left_out: LeftOut,
}

impl Ranking {
    /// Ranks the locks of a survey that asked for this many participants of each.
    pub(super) fn of(surveyed: Surveyed, most: u32) -> Self {
        let left_out = LeftOut::of(&surveyed, most);
        let mut locks = surveyed.locks;
        locks.sort_by_key(|lock| (Reverse(lock.waiting), Reverse(lock.holding)));
        let of_lock = |lock: &SurveyedLock| {
            let waits = lock.participants.iter().filter(|one| one.standing == Standing::Waits);
            waits.map(|one| (lock.path.clone(), one.clone())).collect::<Vec<_>>()
        };
        let mut waiters: Vec<_> = locks.iter().flat_map(of_lock).collect();
        waiters.sort_by_key(|(_, waiter)| waiter.entered);
        let beyond = |length: usize| length.saturating_sub(MOST);
        let left_out = left_out.with_ranking(beyond(locks.len()), beyond(waiters.len()));
        locks.truncate(MOST);
        waiters.truncate(MOST);
        Self { locks, waiters, left_out }
    }

    pub(super) fn json(&self) -> Value {
        let waiter = |(path, one): &(String, Participant)| json!({"path": path, "participant": view::participant(one)});
        json!({
            "locks": self.locks.iter().map(view::lock).collect::<Vec<_>>(),
            "waiters": self.waiters.iter().map(waiter).collect::<Vec<_>>(),
            "left_out": self.left_out,
        })
    }
}

/// More than a screen has lines.
const MOST: usize = 200;
