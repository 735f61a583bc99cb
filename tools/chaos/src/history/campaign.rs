//! The faults of a campaign, and the lives of the processes.

use std::collections::BTreeMap;

use crate::history::{Event, Process, Record, Source};

/// A fault that the campaign injected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) fault: u64,
    pub(crate) kind: String,
    pub(crate) span: Span,
}

/// One life of a process, as the campaign wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) killed: Option<u64>,
    /// The time at which the process had ended by itself.
    pub(crate) exited: Option<u64>,
    /// The times for which the process was stopped. The last one may have no end.
    pub(crate) stops: Vec<Span>,
    /// The times for which the process had no processor, as it says itself. They include those for which it was stopped.
    pub(crate) stalls: Vec<Span>,
    /// The times at which the campaign ended a session of the process.
    pub(crate) sessions_ended: Vec<Span>,
}

/// A time with a begin and perhaps an end, such as that of a stop. A request of the campaign takes effect between its
/// beginning and its answer, or a moment later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: u64,
    /// The end, or `None` if the history has none.
    pub(crate) to: Option<u64>,
}

impl Span {
    fn begins(from: u64) -> Self {
        Self { from, to: None }
    }

    /// Takes note of the end. Returns `false` if there is one already.
    fn end(&mut self, at: u64) -> bool {
        let is_first = self.to.is_none();
        self.to.get_or_insert(at);
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
}

fn between(stops: &[Span], from: u64, to: u64) -> u64 {
    let within = |stop: &Span| stop.to.unwrap_or(to).min(to).saturating_sub(stop.from.max(from));
    stops.iter().map(within).sum()
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Campaign {
    /// The faults, by the time of their beginning.
    pub(crate) faults: Vec<Fault>,
    pub(crate) lives: BTreeMap<Process, Life>,
    /// The times at which each lock was broken by force, with the zxid of the creation of the deleted node.
    pub(crate) broken: BTreeMap<String, Vec<(Span, u64)>>,
    /// The paths that were left at the end, or `None` if the campaign did not look.
    pub(crate) left: Option<Vec<String>>,
}

impl Campaign {
    /// Collects the events of the campaign from sorted records.
    pub(crate) fn collect(records: &[Record]) -> Self {
        let mut campaign = Self::default();
        records.iter().for_each(|record| campaign.take(record));
        campaign
    }

    fn take(&mut self, record: &Record) {
        let at = record.at;
        match &record.event {
            Event::Stalled { nanos } => {
                if let Source::Process(process) = record.by {
                    let span = Span { from: at.saturating_sub(*nanos), to: Some(at) };
                    self.life(process).stalls.push(span);
                }
            }
            Event::FaultBegan { fault, kind } => {
                self.faults.push(Fault { fault: *fault, kind: kind.clone(), span: Span::begins(at) });
            }
            Event::FaultEnded { fault } => {
                let mut faults = self.faults.iter_mut().rev();
                faults.find(|other| other.fault == *fault).map(|fault| fault.span.end(at));
            }
            Event::LockBroken { lock, zxid } => {
                let forces = self.broken.entry(lock.clone()).or_default();
                let same = forces.iter_mut().rev().find(|(_, other)| other == zxid);
                if !same.is_some_and(|(force, _)| force.end(at)) {
                    forces.push((Span::begins(at), *zxid));
                }
            }
            Event::SessionEnded { process } => {
                let forces = &mut self.life(*process).sessions_ended;
                if !forces.last_mut().is_some_and(|force| force.end(at)) {
                    forces.push(Span::begins(at));
                }
            }
            Event::ProcessKilled { process } => self.life(*process).killed = Some(at),
            Event::ProcessExited { process } => self.life(*process).exited = Some(at),
            Event::ProcessStopped { process } => self.life(*process).stops.push(Span::begins(at)),
            Event::ProcessContinued { process } => {
                self.life(*process).stops.last_mut().map(|stop| stop.end(at));
            }
            Event::NodesLeft { paths } => {
                self.left.get_or_insert_default().extend(paths.iter().cloned());
            }
            _ => {}
        }
    }

    fn life(&mut self, process: Process) -> &mut Life {
        self.lives.entry(process).or_default()
    }
}
