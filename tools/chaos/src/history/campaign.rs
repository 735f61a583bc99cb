//! The faults of a campaign, and the lives of the processes.

use std::collections::BTreeMap;

use crate::history::{Event, Process, Record, Source};

/// A fault that the campaign injected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) fault: u64,
    pub(crate) kind: String,
    pub(crate) began: u64,
    /// The time of its end, or `None` for a fault that lasted until the end of the history.
    pub(crate) ended: Option<u64>,
}

/// One life of a process, as the campaign wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Life {
    /// The time at which the campaign killed the process.
    pub(crate) killed: Option<u64>,
    /// The time at which the process had ended by itself.
    pub(crate) exited: Option<u64>,
    /// The times for which the process was stopped. The last one may have no end.
    pub(crate) stops: Vec<Stop>,
    /// The times for which the process had no processor, as it says itself. They include those for which it was stopped.
    pub(crate) stalls: Vec<Stop>,
    /// The times at which the campaign ended a session of the process.
    pub(crate) sessions_ended: Vec<Force>,
}

/// A time for which a process was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) from: u64,
    /// The time at which the process went on, or `None` if it never did.
    pub(crate) to: Option<u64>,
}

/// A request of the campaign that takes effect between its beginning and its answer, or a moment later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Force {
    pub(crate) began: u64,
    /// The time after the answer, or `None` if there is none.
    pub(crate) answered: Option<u64>,
}

impl Force {
    fn begins(at: u64) -> Self {
        Self { began: at, answered: None }
    }

    /// Takes note of the answer. Returns `false` if there is one already.
    fn answer(&mut self, at: u64) -> bool {
        let is_first = self.answered.is_none();
        self.answered.get_or_insert(at);
        is_first
    }
}

impl Life {
    /// Returns the time for which the process was stopped between these times, in nanoseconds.
    pub(crate) fn stopped_between(&self, from: u64, to: u64) -> u64 {
        between(&self.stops, from, to)
    }

    /// Returns the time for which the process could not run between these times, in nanoseconds: it was stopped, or the
    /// machine was busy.
    pub(crate) fn still_between(&self, from: u64, to: u64) -> u64 {
        // Most stops are stalls as well.
        between(&self.stalls, from, to).max(self.stopped_between(from, to))
    }

    fn go_on(&mut self, at: u64) {
        if let Some(stop) = self.stops.last_mut() {
            stop.to = stop.to.or(Some(at));
        }
    }
}

fn between(stops: &[Stop], from: u64, to: u64) -> u64 {
    let within = |stop: &Stop| stop.to.unwrap_or(to).min(to).saturating_sub(stop.from.max(from));
    stops.iter().map(within).sum()
}

/// The events of the campaign itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Campaign {
    /// The faults, by the time of their beginning.
    pub(crate) faults: Vec<Fault>,
    pub(crate) lives: BTreeMap<Process, Life>,
    /// The times at which each lock was broken by force, with the zxid of the creation of the deleted node, if it is known.
    pub(crate) broken: BTreeMap<String, Vec<(Force, Option<u64>)>>,
    /// The paths that were left at the end, or `None` if the campaign did not look.
    pub(crate) left: Option<Vec<String>>,
}

impl Campaign {
    /// Collects the events of the campaign from sorted records.
    pub(crate) fn collect(records: &[Record]) -> Self {
        let mut campaign = Self::default();
        for record in records {
            match (record.by, &record.event) {
                (Source::Process(process), Event::Stalled { nanos }) => {
                    let (from, to) = (record.at.saturating_sub(*nanos), Some(record.at));
                    campaign.life(process).stalls.push(Stop { from, to });
                }
                _ => campaign.take(record.at, &record.event),
            }
        }
        campaign
    }

    fn take(&mut self, at: u64, event: &Event) {
        match event {
            Event::FaultBegan { fault, kind, .. } => {
                self.faults.push(Fault { fault: *fault, kind: kind.clone(), began: at, ended: None });
            }
            Event::FaultEnded { fault } => self.end_fault(*fault, at),
            Event::LockBroken { lock, zxid } => {
                let forces = self.broken.entry(lock.clone()).or_default();
                let same = forces.iter_mut().rev().find(|(_, other)| other == zxid);
                if !same.is_some_and(|(force, _)| force.answer(at)) {
                    forces.push((Force::begins(at), *zxid));
                }
            }
            Event::SessionEnded { process } => {
                let forces = &mut self.life(*process).sessions_ended;
                if !forces.last_mut().is_some_and(|force| force.answer(at)) {
                    forces.push(Force::begins(at));
                }
            }
            Event::ProcessKilled { process } => self.life(*process).killed = Some(at),
            Event::ProcessExited { process } => self.life(*process).exited = Some(at),
            Event::ProcessStopped { process } => self.life(*process).stops.push(Stop { from: at, to: None }),
            Event::ProcessContinued { process } => self.life(*process).go_on(at),
            Event::NodesLeft { paths } => {
                self.left.get_or_insert_default().extend(paths.iter().cloned());
            }
            _ => {}
        }
    }

    fn life(&mut self, process: Process) -> &mut Life {
        self.lives.entry(process).or_default()
    }

    fn end_fault(&mut self, number: u64, at: u64) {
        let open = self.faults.iter_mut().rev().find(|fault| fault.fault == number && fault.ended.is_none());
        if let Some(fault) = open {
            fault.ended = Some(at);
        }
    }
}
