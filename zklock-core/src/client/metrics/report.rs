//! The differences between the counts now and at the last report.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{Label, SharedString, counter, gauge, histogram};

use crate::client::worker::Worker;
use crate::error::LossReason;
use crate::events::{Meter, OUTCOMES, REASONS, Series, Times};
use crate::mode::Mode;
use crate::session::Health;
use crate::session::tally::Tally;

use super::catalog::{
    ACQUISITIONS, CANDIDATES, ELECTIONS, HANDOFFS, HELD, HOLD, LEADERS, LEASE, LEASE_REMAINING, LOSSES,
    ONCE_SKIPS, ONCE_STARTS, RECONNECTS, RELEASE_FAILURES, REQUESTS, SESSION_STATE, SESSIONS, TERMS_ENDED,
    TURNS, WAIT, WAITING,
};

/// The reports of one client.
pub(super) struct Report {
    meter: Arc<Meter>,
    tally: Arc<Tally>,
    namespace: SharedString,
    /// The values of the counters in the last report.
    counters: HashMap<Key, u64>,
    /// The counts of the histograms in the last report.
    times: HashMap<Key, Vec<u64>>,
}

/// A name and the values of its labels.
type Key = (&'static str, Vec<SharedString>);

/// The state of a client that is not counted.
pub(super) struct State {
    health: Health,
    /// `None` without held locks.
    lease: Option<Lasting>,
}

/// The time for which the held locks are certain to stay held.
struct Lasting {
    /// The time right after a server has answered.
    full: Duration,
    remaining: Duration,
}

impl State {
    pub(super) fn of(worker: &Worker) -> Self {
        let session = worker.current_session().filter(|session| session.is_attended());
        let lease = session.map(|session| {
            let (clock, terms) = (session.clock(), session.clock().terms());
            Lasting { full: terms.term(terms.heartbeat_kind()), remaining: clock.remaining() }
        });
        Self { health: worker.health(), lease }
    }
}

impl Report {
    pub(super) fn new(worker: &Worker) -> Self {
        let namespace = if worker.root().is_empty() { "/" } else { worker.root() };
        Self {
            meter: worker.meter().clone(),
            tally: worker.settings().opening.tally.clone(),
            namespace: namespace.to_owned().into(),
            counters: HashMap::new(),
            times: HashMap::new(),
        }
    }

    /// Hands the present counts to the recorder. `None` is the state of a client that is gone.
    pub(super) fn make(&mut self, state: Option<State>) {
        for series in self.meter.all() {
            match series.mode {
                Mode::Leader => self.candidates(&series),
                _ => self.lock(&series),
            }
        }
        self.count(ONCE_STARTS, &[], self.meter.starts.get());
        self.count(ONCE_SKIPS, &[], self.meter.skips.get());
        self.count(SESSIONS, &[], self.tally.sessions());
        self.count(RECONNECTS, &[], self.tally.reconnects());
        self.count(REQUESTS, &[("kind", "read".into())], self.tally.reads());
        self.count(REQUESTS, &[("kind", "write".into())], self.tally.writes());
        self.state(state);
    }

    fn lock(&mut self, series: &Series) {
        let (lock, kind) = (("lock", series.label.clone().into()), ("kind", series.mode.name().into()));
        let of = [lock.clone(), kind.clone()];
        let with = |name, value: &'static str| [lock.clone(), kind.clone(), (name, value.into())];
        self.count(ACQUISITIONS, &with("outcome", "acquired"), series.acquired.get());
        // No attempt withdraws.
        for (outcome, count) in
            OUTCOMES.iter().zip(&series.outcomes).filter(|(name, _)| **name != "withdrawn")
        {
            self.count(ACQUISITIONS, &with("outcome", outcome), count.get());
        }
        for (reason, count) in REASONS.iter().zip(&series.losses) {
            self.count(LOSSES, &with("reason", reason.name()), count.get());
        }
        self.count(HANDOFFS, &of, series.passed_on.get());
        self.count(TURNS, &of, series.turns.get());
        self.count(RELEASE_FAILURES, &of, series.release_failed.get());
        self.time(WAIT, &of, &series.waits);
        self.time(HOLD, &of, &series.holds);
        self.set(WAITING, &of, series.waiting() as f64);
        self.set(HELD, &of, series.held() as f64);
    }

    fn candidates(&mut self, series: &Series) {
        let lock = ("lock", SharedString::from(series.label.clone()));
        let of = [lock.clone()];
        self.count(ELECTIONS, &of, series.acquired.get());
        for (reason, count) in
            REASONS.iter().zip(&series.losses).filter(|(reason, _)| **reason != LossReason::Resigned)
        {
            self.count(TERMS_ENDED, &[lock.clone(), ("reason", reason.name().into())], count.get());
        }
        let resigned = series.released.get() + series.release_failed.get();
        self.count(TERMS_ENDED, &[lock.clone(), ("reason", "resigned".into())], resigned);
        let with_kind = [lock.clone(), ("kind", series.mode.name().into())];
        self.count(RELEASE_FAILURES, &with_kind, series.release_failed.get());
        self.set(CANDIDATES, &of, series.waiting() as f64);
        self.set(LEADERS, &of, series.held() as f64);
    }

    fn state(&mut self, state: Option<State>) {
        let health = state.as_ref().map(|state| state.health);
        for (name, one) in
            [("connected", Health::Connected), ("suspended", Health::Suspended), ("lost", Health::Lost)]
        {
            let is_present = if health == Some(one) { 1.0 } else { 0.0 };
            self.set(SESSION_STATE, &[("state", name.into())], is_present);
        }
        // No comparison holds for `NAN`, so that no alert rests on a lock that is no longer held.
        let (remaining, full) = state
            .and_then(|state| state.lease)
            .map_or((f64::NAN, f64::NAN), |lease| (lease.remaining.as_secs_f64(), lease.full.as_secs_f64()));
        self.set(LEASE_REMAINING, &[], remaining);
        self.set(LEASE, &[], full);
    }

    /// Adds the difference to a counter. The first report makes the counter known, even if it is zero.
    fn count(&mut self, name: &'static str, labels: &[(&'static str, SharedString)], value: u64) {
        let last = self.counters.insert(key(name, labels), value);
        if last != Some(value) {
            counter!(name, of(labels)).increment(value - last.unwrap_or_default());
        }
    }

    /// Adds the new durations to a histogram.
    fn time(&mut self, name: &'static str, labels: &[(&'static str, SharedString)], times: &Times) {
        let last = self.times.entry(key(name, labels)).or_default();
        let histogram = histogram!(name, of(labels));
        for (place, (seconds, count)) in times.counts().enumerate() {
            if last.len() == place {
                last.push(0);
            }
            let before = std::mem::replace(&mut last[place], count);
            if count > before {
                histogram.record_many(seconds, usize::try_from(count - before).unwrap_or(usize::MAX));
            }
        }
    }

    /// Sets a gauge. Clients of different namespaces have gauges of their own. Those of one namespace overwrite each
    /// other's.
    fn set(&self, name: &'static str, labels: &[(&'static str, SharedString)], value: f64) {
        let mut labels = of(labels);
        labels.push(Label::new("namespace", self.namespace.clone()));
        gauge!(name, labels).set(value);
    }
}

fn of(labels: &[(&'static str, SharedString)]) -> Vec<Label> {
    labels.iter().map(|(name, value)| Label::new(*name, value.clone())).collect()
}

fn key(name: &'static str, labels: &[(&'static str, SharedString)]) -> Key {
    (name, labels.iter().map(|(_, value)| value.clone()).collect())
}
