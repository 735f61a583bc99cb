//! The differences between the counts now and at the last report.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{Label, SharedString, counter, gauge, histogram};

use crate::client::worker::Worker;
use crate::error::LossReason;
use crate::events::{Calls, Meter, Series, Times};
use crate::mode::Mode;
use crate::session::Health;
use crate::session::tally::Tally;

use super::catalog::{
    ACQUISITIONS, CANDIDATES, ELECTIONS, HANDOFFS, HELD, HOLD, LEADERS, LEASE, LEASE_REMAINING, LOSSES,
    ONCE_SKIPS, ONCE_STARTS, RECONNECTS, RELEASE_FAILURES, REQUESTS, SESSION_STATE, SESSIONS, TERMS_ENDED,
    TURNS, WAIT, WAITING,
};

/// The reports of one client. A count that the recorder has not taken, because it panicked, is in the next report.
pub(super) struct Report {
    meter: Arc<Meter>,
    tally: Arc<Tally>,
    namespace: SharedString,
    is_over: bool,
    /// The changes of each series up to the last report.
    changes: HashMap<(Arc<str>, Mode), u64>,
    /// The values of the counters in the last report.
    counters: HashMap<Key, u64>,
    /// The counts of the histograms in the last report.
    times: HashMap<Key, Vec<u64>>,
    /// The bits of the values of the gauges in the last report.
    gauges: HashMap<Key, u64>,
}

/// A name and the values of its labels.
type Key = (&'static str, Vec<SharedString>);
/// The name and the value of a label. A value that is not static is shared, so that a copy costs little.
type Tag = (&'static str, SharedString);

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
        Self::about(worker.meter().clone(), worker.settings().opening.tally.clone(), namespace)
    }

    pub(super) fn about(meter: Arc<Meter>, tally: Arc<Tally>, namespace: &str) -> Self {
        let namespace = SharedString::from_shared(namespace.into());
        let (changes, counters, times, gauges) = Default::default();
        Self { meter, tally, namespace, is_over: false, changes, counters, times, gauges }
    }

    /// Hands the present counts to the recorder. `None` is the state of a client that is gone.
    pub(super) fn make(&mut self, state: Option<State>) {
        self.is_over = state.is_none();
        for series in self.meter.all() {
            let (place, changes) = ((series.label.clone(), series.mode), series.changes());
            if self.changes.get(&place) != Some(&changes) {
                self.counts(&series);
                self.changes.insert(place, changes);
            }
            self.gauges(&series);
        }
        self.count(ONCE_STARTS, &[], self.meter.starts.get());
        self.count(ONCE_SKIPS, &[], self.meter.skips.get());
        self.count(SESSIONS, &[], self.tally.sessions());
        self.count(RECONNECTS, &[], self.tally.reconnects());
        self.count(REQUESTS, &[("kind", "read".into())], self.tally.reads());
        self.count(REQUESTS, &[("kind", "write".into())], self.tally.writes());
        self.state(state);
    }

    fn counts(&mut self, series: &Series) {
        self.count(RELEASE_FAILURES, &of_lock(series), series.release_failed.get());
        match &series.calls {
            Some(calls) => self.calls(series, calls),
            None => self.terms(series),
        }
    }

    fn calls(&mut self, series: &Series, calls: &Calls) {
        let of = of_lock(series);
        let with = |name, value: &'static str| [of[0].clone(), of[1].clone(), (name, value.into())];
        for (outcome, count) in series.outcomes() {
            self.count(ACQUISITIONS, &with("outcome", outcome.name()), count);
        }
        // The other reasons are those of terms.
        let is_of_locks = |reason| !matches!(reason, LossReason::Suspended | LossReason::Resigned);
        for (reason, count) in series.losses().filter(|(reason, _)| is_of_locks(*reason)) {
            self.count(LOSSES, &with("reason", reason.name()), count);
        }
        self.count(HANDOFFS, &of, series.passed_on.get());
        self.count(TURNS, &of, calls.turns.get());
        self.time(WAIT, &of, &calls.waits);
        self.time(HOLD, &of, &calls.holds);
    }

    fn terms(&mut self, series: &Series) {
        let of = of_lock(series);
        self.count(ELECTIONS, &of[..1], series.acquired());
        let with = |reason: LossReason| [of[0].clone(), ("reason", reason.name().into())];
        for (reason, count) in series.losses().filter(|(reason, _)| *reason != LossReason::Resigned) {
            self.count(TERMS_ENDED, &with(reason), count);
        }
        let resigned = series.released.get() + series.release_failed.get();
        self.count(TERMS_ENDED, &with(LossReason::Resigned), resigned);
    }

    fn gauges(&mut self, series: &Series) {
        let of = of_lock(series);
        let (waiting, held, of) = match series.mode {
            Mode::Leader => (CANDIDATES, LEADERS, &of[..1]),
            _ => (WAITING, HELD, &of[..]),
        };
        self.set(waiting, of, series.waiting() as f64);
        self.set(held, of, series.held() as f64);
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
    fn count(&mut self, name: &'static str, labels: &[Tag], value: u64) {
        let key = key(name, labels);
        let last = self.counters.get(&key).copied();
        if last != Some(value) {
            counter!(name, of(labels)).increment(value - last.unwrap_or_default());
            self.counters.insert(key, value);
        }
    }

    /// Adds the new durations to a histogram.
    fn time(&mut self, name: &'static str, labels: &[Tag], times: &Times) {
        let last = self.times.entry(key(name, labels)).or_default();
        let histogram = histogram!(name, of(labels));
        for (place, (seconds, count)) in times.counts().enumerate() {
            if last.len() == place {
                last.push(0);
            }
            if count > last[place] {
                histogram.record_many(seconds, usize::try_from(count - last[place]).unwrap_or(usize::MAX));
                last[place] = count;
            }
        }
    }

    /// Sets a gauge. Clients of different namespaces have gauges of their own. Those of one namespace overwrite each
    /// other's, but one that is over does so only once.
    fn set(&mut self, name: &'static str, labels: &[Tag], value: f64) {
        let (key, bits) = (key(name, labels), value.to_bits());
        if self.is_over && self.gauges.get(&key) == Some(&bits) {
            return;
        }
        let mut labels = of(labels);
        labels.push(Label::new("namespace", self.namespace.clone()));
        gauge!(name, labels).set(value);
        self.gauges.insert(key, bits);
    }
}

fn of_lock(series: &Series) -> [Tag; 2] {
    [
        ("lock", SharedString::from_shared(series.label.clone())),
        ("kind", SharedString::const_str(series.mode.name())),
    ]
}

fn of(labels: &[Tag]) -> Vec<Label> {
    labels.iter().map(|(name, value)| Label::new(*name, value.clone())).collect()
}

fn key(name: &'static str, labels: &[Tag]) -> Key {
    (name, labels.iter().map(|(_, value)| value.clone()).collect())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use metrics::with_local_recorder;

    use crate::client::metrics::stub::Stub;
    use crate::error::LockError;
    use crate::events::{Attempt, Candidacy, Source, Subject};
    use crate::path::NodePath;

    use super::*;

    /// Lives that are counted, and their reports.
    struct Scene {
        source: Source,
        report: Report,
        recorder: Stub,
    }

    impl Scene {
        fn new() -> Self {
            let source = Source::new();
            let report = Report::about(source.meter().clone(), Arc::default(), "/scene");
            Self { source, report, recorder: Stub::default() }
        }

        /// Makes a call for a lock with this name fail.
        fn fail(&self, label: &str) {
            self.live(label, Mode::Exclusive, |source, subject| {
                Attempt::begin(source.hub(), subject).failed(&LockError::Closed { path: "/a".to_owned() });
            });
        }

        fn live(&self, label: &str, mode: Mode, life: impl FnOnce(&Source, Subject<'_>)) {
            let (path, label) = (NodePath::new("/root", "/a").unwrap(), Cow::Owned(label.to_owned()));
            life(&self.source, Subject { path: &path, label: &label, mode, group: None });
        }

        fn report(&mut self, state: Option<State>) -> Vec<String> {
            with_local_recorder(&self.recorder, || self.report.make(state));
            self.recorder.asked()
        }

        fn failed(&self) -> Option<f64> {
            self.recorder.value("zklock_acquisitions_total a exclusive failed")
        }
    }

    fn connected() -> Option<State> {
        Some(State { health: Health::Connected, lease: None })
    }

    #[test]
    fn only_the_gauges_of_an_idle_lock_are_reported_again() {
        let mut scene = Scene::new();
        scene.fail("a");
        scene.report(connected());
        let of_locks = |asked: Vec<String>| {
            let of_locks = asked.into_iter().filter(|series| series.contains(" exclusive"));
            of_locks.collect::<Vec<_>>()
        };
        let gauges = ["zklock_waiting a exclusive /scene", "zklock_held a exclusive /scene"];
        assert_eq!(of_locks(scene.report(connected())), gauges);
        scene.fail("a");
        assert!(of_locks(scene.report(connected())).contains(&"zklock_wait_seconds a exclusive".to_owned()));
        assert_eq!(scene.failed(), Some(2.0));
    }

    #[test]
    fn the_reasons_of_terms_are_those_of_candidates_only() {
        let mut scene = Scene::new();
        scene.fail("a");
        scene.live("b", Mode::Leader, |source, subject| drop(Candidacy::begin(source.hub(), subject)));
        let asked = scene.report(connected());
        let has = |series: &str| asked.iter().any(|asked| asked == series);
        for name in
            ["node_deleted", "owner_changed", "session_ended", "lease_expired", "suspended", "resigned"]
        {
            let is_of_locks = !["suspended", "resigned"].contains(&name);
            assert_eq!(has(&format!("zklock_losses_total a exclusive {name}")), is_of_locks, "{name}");
            assert!(has(&format!("zklock_terms_ended_total b {name}")), "{name}");
        }
    }

    #[test]
    fn a_client_that_is_over_sets_a_gauge_only_when_its_value_changes() {
        let mut scene = Scene::new();
        scene.fail("a");
        scene.report(connected());
        let is_gauge = |series: &String| series.ends_with(" /scene");
        let changed: Vec<_> = scene.report(None).into_iter().filter(is_gauge).collect();
        assert_eq!(changed, ["zklock_session_state connected /scene"]);
        scene.fail("a");
        assert!(!scene.report(None).iter().any(is_gauge));
        scene.fail("b");
        let new: Vec<_> = scene.report(None).into_iter().filter(is_gauge).collect();
        assert_eq!(new, ["zklock_waiting b exclusive /scene", "zklock_held b exclusive /scene"]);
    }

    #[test]
    fn counts_that_the_recorder_has_not_taken_are_in_the_next_report() {
        let mut scene = Scene::new();
        scene.fail("a");
        scene.recorder.panic_next(1);
        let Scene { report, recorder, .. } = &mut scene;
        let make = || with_local_recorder(recorder, || report.make(connected()));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(make)).unwrap_err();
        assert_eq!(scene.failed(), None);
        scene.report(connected());
        assert_eq!(scene.failed(), Some(1.0));
    }
}
