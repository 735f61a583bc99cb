//! Tests of the counts, and of their reports to a recorder.

mod stub;

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Mutex;

use metrics::with_local_recorder;
use tracing::level_filters::LevelFilter;

use crate::error::LockError;
use crate::event::Subject;
use crate::events::{Attempt, Candidacy, EventSender};
use crate::path::NodePath;
use crate::token::FencingToken;

use self::stub::Stub;
use super::*;

#[test]
fn names_beyond_the_limit_share_a_series() {
    let counters = Counters::default();
    for nth in 0..10 * MOST_NAMES {
        counters.of(&format!("lock {nth}"), Mode::Exclusive).counts.lock().note(&LockEventKind::Begun);
    }
    let all = counters.all();
    assert_eq!(all.len(), MOST_NAMES + 1);
    let others = all.iter().find(|lock| &*lock.label == OTHERS).unwrap();
    assert_eq!(others.counts.lock().waiting, 9 * MOST_NAMES as u64);
    assert_eq!(counters.of("lock 7", Mode::Exclusive).counts.lock().waiting, 1);
}

#[test]
fn each_loss_is_counted_under_its_own_name() {
    for (nth, reason) in LossReason::ALL.into_iter().enumerate() {
        let name = reason.name().split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
        assert_eq!(name.collect::<String>(), format!("{reason:?}"));
        let mut counts = Counts::default();
        counts.note(&LockEventKind::Begun);
        let (fencing_token, waited, held) = (FencingToken::new(7), Duration::ZERO, Duration::ZERO);
        counts.note(&LockEventKind::Acquired { fencing_token, waited });
        counts.note(&LockEventKind::Lost { fencing_token, held, reason });
        let losses = std::array::from_fn(|at| u64::from(at == nth));
        assert_eq!((counts.losses, counts.held), (losses, 0));
    }
}

#[test]
fn a_duration_is_rounded_by_about_three_percent() {
    let (mut micros, mut all) = (0_u64, Durations::default());
    while micros < 7 * 24 * 3_600 * 1_000_000 {
        assert!(rounded(micros).abs_diff(micros) as f64 <= 0.032 * micros as f64, "{micros}");
        all.note(Duration::from_micros(micros));
        micros += micros / 70 + 1;
    }
    assert!(all.0.len() <= 600, "{}", all.0.len());
}

#[test]
fn the_shortest_and_the_longest_durations_are_counted() {
    let mut durations = Durations::default();
    for duration in [Duration::ZERO, Duration::from_micros(LONGEST), Duration::MAX] {
        durations.note(duration);
    }
    assert_eq!(durations.0.into_values().collect::<Vec<_>>(), [1, 2]);
}

/// Lives that are counted, and their reports.
struct Scene {
    source: EventSender,
    exporter: Exporter,
    recorder: Stub,
}

impl Scene {
    fn new() -> Self {
        let source = EventSender::new();
        let exporter = Exporter::new(source.counters().clone(), Arc::default(), "/scene");
        Self { source, exporter, recorder: Stub::default() }
    }

    /// Makes a call for a lock with this name fail.
    fn fail(&self, label: &str) {
        self.live(label, Mode::Exclusive, |source, subject| {
            let error = LockError::Closed { path: "/a".to_owned() };
            Attempt::begin(Some(source.clone()), subject).failed(&error);
        });
    }

    fn live(&self, label: &str, mode: Mode, life: impl FnOnce(&EventSender, Subject<'_>)) {
        let (path, label) = (NodePath::new("/root", "/a").unwrap(), Cow::Owned(label.to_owned()));
        life(&self.source, Subject { path: &path, label: &label, mode, group: None });
    }

    fn report(&mut self, state: Option<SessionGauges>) -> Vec<String> {
        with_local_recorder(&self.recorder, || self.exporter.report(state));
        self.recorder.asked()
    }

    fn failed(&self) -> Option<u64> {
        self.recorder.value("zklock_acquisitions_total a exclusive failed")
    }
}

fn connected() -> Option<SessionGauges> {
    Some(SessionGauges { health: Health::Connected, node_bytes: 7, lease: None })
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
    assert!(
        of_locks(scene.report(connected()))
            .contains(&"zklock_acquisitions_total a exclusive failed".to_owned())
    );
    assert_eq!(scene.failed(), Some(2));
}

#[test]
fn the_reasons_of_terms_are_those_of_candidates_only() {
    let mut scene = Scene::new();
    scene.fail("a");
    scene.live("b", Mode::Leader, |source, subject| drop(Candidacy::begin(Some(source.clone()), subject)));
    let asked = scene.report(connected());
    let has = |series: &str| asked.iter().any(|asked| asked == series);
    for name in ["node_deleted", "owner_changed", "session_ended", "lease_expired", "suspended", "resigned"] {
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
    assert_eq!(changed, ["zklock_session_state connected /scene", "zklock_session_node_bytes /scene"]);
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
    let Scene { exporter, recorder, .. } = &mut scene;
    let make = || with_local_recorder(recorder, || exporter.report(connected()));
    catch_unwind(AssertUnwindSafe(make)).unwrap_err();
    assert_eq!(scene.failed(), None);
    scene.report(connected());
    assert_eq!(scene.failed(), Some(1));
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn panics_of_the_recorder_end_no_reports_and_are_logged_once() {
    let (counters, lines, recorder) = (Arc::<Counters>::default(), Lines::default(), Stub::default());
    let tally = Arc::<Tally>::default();
    let exporter = Exporter::new(counters, tally.clone(), "/a");
    tally.starts.add_one();
    let (reports, orders) = mpsc::channel();
    let (done, told) = mpsc::channel();
    reports.send(done.clone()).unwrap();
    reports.send(done).unwrap();
    drop(reports);
    // The first description, and the first counter.
    recorder.panic_next(2);
    let written = lines.clone();
    let log = tracing_subscriber::fmt().with_max_level(LevelFilter::ERROR).with_ansi(false);
    tracing::subscriber::with_default(log.with_writer(move || written.clone()).finish(), || {
        with_local_recorder(&recorder, || exporter.run(&orders, || None));
    });
    assert_eq!(told.iter().count(), 2);
    assert_eq!(recorder.value("zklock_once_starts_total"), Some(1));
    let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert_eq!(log.matches("the recorder of metrics panicked").count(), 1, "{log}");
}
