//! The way on from a state if no faults follow: every call is granted or answered, and nothing is left.

use std::collections::HashSet;

use crate::local_queue::held::Mode;

use super::step::Step;
use super::world::{CallState, Caller, Foreigner, Share, Task, WITHIN, World};

/// A number of steps that exceeds any recovery.
pub(super) const LONGEST: usize = 400;
/// The number of bounds after which nothing new happens by itself.
const PATIENCE: u32 = 6;

impl World {
    /// Checks that every call is granted or answered, and that no node is left.
    ///
    /// Readers give the lock back only when no other reader waits, unless a writer has to come first.
    /// The recovery of a world is always the same, so it ends at a world that is known to recover.
    pub(super) fn check_progress(mut self, recovering: &mut HashSet<u64>) {
        self.faults_left = 0;
        let mut passed = Vec::new();
        while passed.len() < LONGEST {
            let key = self.fingerprint();
            if recovering.contains(&key) {
                return recovering.extend(passed);
            }
            passed.push(key);
            match self.next_of_recovery() {
                Some(step) => self.take(step),
                None if self.now < self.begin + PATIENCE * WITHIN => self.take(Step::Tick),
                None => {
                    self.check_rest();
                    return recovering.extend(passed);
                }
            }
        }
        panic!("the processes do not come to rest");
    }

    fn next_of_recovery(&self) -> Option<Step> {
        let steps = self.steps();
        let is_last = |step: &&Step| matches!(step, Step::GiveBack(..) | Step::LeaveForeign);
        let goes_on = |step: &&Step| match step {
            Step::Fire(..)
            | Step::Answer(..)
            | Step::Create(_)
            | Step::Head(_)
            | Step::Confirm(_)
            | Step::HoldForeign => true,
            step => step.is_work(),
        };
        let first = steps.iter().find(goes_on);
        first.or_else(|| steps.iter().filter(is_last).find(|step| self.may_end(**step))).copied()
    }

    /// A reader whose work needs that of other readers waits for them.
    fn may_end(&self, step: Step) -> bool {
        let is_reader = match step {
            Step::GiveBack(process, call) => {
                let share = self.processes[process].calls[call].share();
                let is_lost = share.is_some_and(|share| self.node_of(share.zxid).is_lost());
                share.is_some_and(|share| share.mode == Mode::Shared) && !is_lost
            }
            _ => self.foreigner == Foreigner::Holding(Mode::Shared),
        };
        !is_reader || self.is_waiting(Mode::Exclusive) || !self.is_waiting(Mode::Shared)
    }

    /// Tells whether anybody waits in this mode, or holds it in the way of readers.
    fn is_waiting(&self, mode: Mode) -> bool {
        let calls = self.processes.iter().flat_map(|process| &process.calls);
        let waits = |call: &Caller| call.is_in_line() && call.spec.mode == mode;
        let coming = self.processes.iter().filter_map(|process| process.contender);
        calls.clone().any(waits)
            || coming.into_iter().any(|contender| contender.entry.mode == mode)
            || self.foreigner == Foreigner::Queued(mode)
            || (mode == Mode::Exclusive && self.has_writer())
    }

    fn has_writer(&self) -> bool {
        let calls = self.processes.iter().flat_map(|process| &process.calls);
        let is_writer = |share: Share| share.mode == Mode::Exclusive;
        calls.filter_map(Caller::share).any(is_writer)
            || self.foreigner == Foreigner::Holding(Mode::Exclusive)
    }

    fn check_rest(&self) {
        for process in &self.processes {
            for call in &process.calls {
                let has_ended = matches!(call.state, CallState::Idle | CallState::Done);
                assert!(has_ended, "a call is stuck: {call:?}, {:?}", process.state);
            }
            assert_eq!(process.task, Task::Absent, "the task does not end: {:?}", process.state);
        }
        assert_eq!(self.nodes, [], "a node is left");
        let is_away = matches!(self.foreigner, Foreigner::Away(_) | Foreigner::Done);
        assert!(is_away, "another client waits forever");
    }
}
