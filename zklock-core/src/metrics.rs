//! Counts what happens to the locks of a client, and hands the counts to the recorder of the crate `metrics`.
//!
//! A recorder is code of users, so it runs on a thread of its own, `zklock-metrics`, once a second and at the client's
//! end, and never on the client's thread or on that of a call.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use metrics::{
    Label, SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};

use crate::change::Mutex;
use crate::error::LossReason;
use crate::event::{LockEventKind, Outcome};
use crate::mode::Mode;
use crate::session::Health;
use crate::session::counts::Tally;

/// The counts of one client.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    locks: Mutex<HashMap<Arc<str>, Vec<Arc<LockCounters>>>>,
}

impl Counters {
    /// Returns the counts of locks with this name. Once there are [`MOST_NAMES`], further ones share one.
    pub(crate) fn of(&self, label: &str, mode: Mode) -> Arc<LockCounters> {
        let mut locks = self.locks.lock();
        let name = if locks.len() < MOST_NAMES || locks.contains_key(label) { label } else { OTHERS };
        let known = locks.get(name).and_then(|all| all.iter().find(|counters| counters.mode == mode));
        known.cloned().unwrap_or_else(|| {
            let new = Arc::new(LockCounters { label: name.into(), mode, counts: Mutex::default() });
            locks.entry(new.label.clone()).or_default().push(new.clone());
            new
        })
    }

    fn all(&self) -> Vec<Arc<LockCounters>> {
        self.locks.lock().values().flatten().cloned().collect()
    }
}

/// The counts of all locks, or elections, with one name and one mode.
#[derive(Debug)]
pub(crate) struct LockCounters {
    label: Arc<str>,
    mode: Mode,
    pub(crate) counts: Mutex<Counts>,
}

/// What is counted of a lock or an election. A candidate that is elected has acquired its lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// The calls, or candidates, that wait. An elected candidate is one that stays.
    waiting: u64,
    /// The holds, or terms, that have not ended.
    held: u64,
    pub(crate) passed_on: u64,
    release_failed: u64,
    /// The nodes under which calls have held the lock.
    pub(crate) turns: u64,
    /// The ends of waits, by their outcomes.
    outcomes: [u64; Outcome::ALL.len()],
    /// The losses of locks and the ends of terms, by their reasons.
    losses: [u64; LossReason::ALL.len()],
    /// The waits of calls that have acquired the lock.
    waits: Durations,
    holds: Durations,
}

impl Counts {
    /// Counts an event.
    pub(crate) fn note(&mut self, kind: &LockEventKind) {
        match kind {
            LockEventKind::Begun => self.waiting += 1,
            LockEventKind::Withdrawn => self.waiting -= 1,
            LockEventKind::Contended { .. } => self.end_wait(Outcome::Contended),
            LockEventKind::TimedOut { .. } => self.end_wait(Outcome::TimedOut),
            LockEventKind::Cancelled { .. } => self.end_wait(Outcome::Cancelled),
            LockEventKind::Refused { .. } => self.end_wait(Outcome::Refused),
            LockEventKind::Failed { .. } => self.end_wait(Outcome::Failed),
            LockEventKind::Acquired { waited, .. } => {
                self.waiting -= 1;
                self.begin_hold(*waited);
            }
            LockEventKind::Elected { waited, .. } => self.begin_hold(*waited),
            LockEventKind::Released { held, .. } => self.end_hold(*held),
            LockEventKind::PassedOn { held, .. } => {
                self.end_hold(*held);
                self.passed_on += 1;
            }
            LockEventKind::ReleaseFailed { held, .. } => {
                self.end_hold(*held);
                self.release_failed += 1;
            }
            LockEventKind::Lost { held, reason, .. } => self.lose(*held, *reason),
            LockEventKind::Resigned { held, .. } => self.lose(*held, LossReason::Resigned),
            LockEventKind::Queued { .. }
            | LockEventKind::Suspended { .. }
            | LockEventKind::Confirmed { .. }
            | LockEventKind::Downgraded { .. }
            | LockEventKind::Rejected { .. }
            | LockEventKind::TickAhead { .. } => {}
        }
    }

    fn end_wait(&mut self, outcome: Outcome) {
        self.waiting -= 1;
        self.outcomes[outcome as usize] += 1;
    }

    fn begin_hold(&mut self, waited: Duration) {
        self.held += 1;
        self.waits.note(waited);
        self.outcomes[Outcome::Acquired as usize] += 1;
    }

    fn end_hold(&mut self, held: Duration) {
        self.held -= 1;
        self.holds.note(held);
    }

    fn lose(&mut self, held: Duration, reason: LossReason) {
        self.end_hold(held);
        self.losses[reason as usize] += 1;
    }

    pub(crate) fn acquired(&self) -> u64 {
        self.outcomes[Outcome::Acquired as usize]
    }
}

/// The numbers of durations, by their length in microseconds, which is rounded so that there are few of them.
///
/// It takes no more memory if a recorder blocks for long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Durations(BTreeMap<u64, u64>);

impl Durations {
    fn note(&mut self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).map_or(LONGEST, |micros| micros.min(LONGEST));
        *self.0.entry(rounded(micros)).or_default() += 1;
    }
}

/// Returns the middle of the numbers with the same first five bits.
fn rounded(number: u64) -> u64 {
    let others = (u64::BITS - number.leading_zeros()).saturating_sub(5);
    (number >> others << others) + (1 << others) / 2
}

/// What gauges show of a client's session.
pub(crate) struct SessionGauges {
    pub(crate) health: Health,
    /// The bytes of the paths of the session's nodes.
    pub(crate) node_bytes: usize,
    /// `None` without held locks.
    pub(crate) lease: Option<LeaseGauges>,
}

/// The times for which held locks are certain to stay held.
pub(crate) struct LeaseGauges {
    pub(crate) remaining: Duration,
    /// The time right after a server has answered.
    pub(crate) full: Duration,
}

/// The thread that reports. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Reports(Sender<Sender<()>>);

impl Reports {
    /// Starts the thread. `gauges` returns `None` for a client that is gone.
    pub(crate) fn start(
        counters: Arc<Counters>,
        tally: Arc<Tally>,
        root: &str,
        gauges: impl Fn() -> Option<SessionGauges> + Send + 'static,
    ) -> Option<Self> {
        let (reports, orders) = mpsc::channel();
        let exporter = Exporter::new(counters, tally, root);
        let thread = thread::Builder::new().name("zklock-metrics".into());
        match thread.spawn(move || exporter.run(&orders, gauges)) {
            Ok(_) => Some(Self(reports)),
            Err(error) => {
                tracing::warn!(%error, "cannot start the thread that records metrics");
                None
            }
        }
    }

    /// Requests the last report for the client's thread, and waits for it a moment: the recorder may block.
    pub(crate) fn finish(&self) {
        let (done, told) = mpsc::channel();
        if self.0.send(done).is_ok() {
            told.recv_timeout(LONGEST_REPORT).ok();
        }
    }
}

/// Hands the differences since the last report to the recorder. A count that the recorder has not taken, because it
/// panicked, is in the next report.
struct Exporter {
    counters: Arc<Counters>,
    tally: Arc<Tally>,
    namespace: SharedString,
    /// The client is gone, or its thread has ended.
    is_over: bool,
    has_panicked: bool,
    /// The values of the counters, and the bits of those of the gauges, in the last report.
    values: HashMap<Key, u64>,
    /// The histograms in the last report.
    durations: HashMap<Key, Durations>,
}

/// A metric: its name, which ends with its unit, and its description.
#[derive(Clone, Copy)]
struct Metric(&'static str, &'static str);

impl Metric {
    fn unit(self) -> Unit {
        match self.0 {
            name if name.ends_with("_seconds") => Unit::Seconds,
            name if name.ends_with("_bytes") => Unit::Bytes,
            _ => Unit::Count,
        }
    }
}

/// A name and its labels. A value that is not static is shared, so that a copy costs little.
type Key = (&'static str, Vec<Label>);

impl Exporter {
    fn new(counters: Arc<Counters>, tally: Arc<Tally>, root: &str) -> Self {
        let namespace = SharedString::from_shared(if root.is_empty() { "/" } else { root }.into());
        let (values, durations) = Default::default();
        Self { counters, tally, namespace, is_over: false, has_panicked: false, values, durations }
    }

    fn run(mut self, orders: &Receiver<Sender<()>>, gauges: impl Fn() -> Option<SessionGauges>) {
        loop {
            let order = orders.recv_timeout(PERIOD);
            // The order comes from the client's thread at its end. Handles may still count calls, all of which fail.
            let gauges = if self.is_over || order.is_ok() { None } else { gauges() };
            self.record(|exporter| exporter.report(gauges));
            match order {
                Ok(done) => drop(done.send(())),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Runs code that calls the recorder. A panic of it ends neither the reports nor the client, and is logged once.
    fn record(&mut self, code: impl FnOnce(&mut Self)) {
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| code(self))) else { return };
        // The drop of the panic may itself panic.
        catch_unwind(AssertUnwindSafe(move || drop(panic))).ok();
        if !mem::replace(&mut self.has_panicked, true) {
            tracing::error!("the recorder of metrics panicked");
        }
    }

    fn report(&mut self, gauges: Option<SessionGauges>) {
        self.is_over = gauges.is_none();
        for lock in self.counters.all() {
            self.report_lock(&lock);
        }
        self.count(ONCE_STARTS, &[], self.tally.starts.get());
        self.count(ONCE_SKIPS, &[], self.tally.skips.get());
        self.count(SESSIONS, &[], self.tally.sessions.get());
        self.count(RECONNECTS, &[], self.tally.reconnects.get());
        self.count(REQUESTS, &[Label::from_static_parts("kind", "read")], self.tally.reads.get());
        self.count(REQUESTS, &[Label::from_static_parts("kind", "write")], self.tally.writes.get());
        self.report_session(gauges);
    }

    fn report_lock(&mut self, lock: &LockCounters) {
        let name = Label::new("lock", SharedString::from_shared(lock.label.clone()));
        let kind = Label::from_static_parts("kind", lock.mode.name());
        let counts = lock.counts.lock().clone();
        self.count(RELEASE_FAILURES, &[name.clone(), kind.clone()], counts.release_failed);
        match lock.mode {
            Mode::Leader => self.report_election(&counts, name),
            _ => self.report_calls(&counts, [name, kind]),
        }
    }

    fn report_calls(&mut self, counts: &Counts, of: [Label; 2]) {
        let with = |label, value| [of[0].clone(), of[1].clone(), Label::from_static_parts(label, value)];
        for outcome in Outcome::ALL {
            self.count(ACQUISITIONS, &with("outcome", outcome.name()), counts.outcomes[outcome as usize]);
        }
        let is_of_terms = |reason| matches!(reason, LossReason::Suspended | LossReason::Resigned);
        for reason in LossReason::ALL.into_iter().filter(|reason| !is_of_terms(*reason)) {
            self.count(LOSSES, &with("reason", reason.name()), counts.losses[reason as usize]);
        }
        self.count(HANDOFFS, &of, counts.passed_on);
        self.count(TURNS, &of, counts.turns);
        self.time(WAIT, &of, &counts.waits);
        self.time(HOLD, &of, &counts.holds);
        self.set(WAITING, &of, counts.waiting as f64);
        self.set(HELD, &of, counts.held as f64);
    }

    fn report_election(&mut self, counts: &Counts, name: Label) {
        self.count(ELECTIONS, std::slice::from_ref(&name), counts.acquired());
        let mut ends = counts.losses;
        ends[LossReason::Resigned as usize] += counts.release_failed;
        for reason in LossReason::ALL {
            let labels = [name.clone(), Label::from_static_parts("reason", reason.name())];
            self.count(TERMS_ENDED, &labels, ends[reason as usize]);
        }
        self.set(CANDIDATES, std::slice::from_ref(&name), counts.waiting as f64);
        self.set(LEADERS, &[name], counts.held as f64);
    }

    fn report_session(&mut self, gauges: Option<SessionGauges>) {
        let health = gauges.as_ref().map(|gauges| gauges.health);
        for (name, one) in
            [("connected", Health::Connected), ("suspended", Health::Suspended), ("lost", Health::Lost)]
        {
            let is_present = if health == Some(one) { 1.0 } else { 0.0 };
            self.set(SESSION_STATE, &[Label::from_static_parts("state", name)], is_present);
        }
        let node_bytes = gauges.as_ref().map_or(0, |gauges| gauges.node_bytes);
        self.set(NODE_BYTES, &[], node_bytes as f64);
        // No comparison holds for `NAN`, so that no alert rests on a lock that is no longer held.
        let lease = gauges.and_then(|gauges| gauges.lease);
        let (remaining, full) = lease
            .map_or((f64::NAN, f64::NAN), |lease| (lease.remaining.as_secs_f64(), lease.full.as_secs_f64()));
        self.set(LEASE_REMAINING, &[], remaining);
        self.set(LEASE, &[], full);
    }

    /// Adds the difference to a counter. The first report makes the counter known, even if it is zero.
    fn count(&mut self, metric: Metric, labels: &[Label], value: u64) {
        let Metric(name, description) = metric;
        let key = (name, labels.to_vec());
        let last = self.values.get(&key).copied();
        if last != Some(value) {
            describe_counter!(name, metric.unit(), description);
            counter!(name, labels.to_vec()).increment(value - last.unwrap_or_default());
            self.values.insert(key, value);
        }
    }

    /// Adds the new durations to a histogram. The first report makes the histogram known.
    fn time(&mut self, metric: Metric, labels: &[Label], durations: &Durations) {
        let Metric(name, description) = metric;
        let key = (name, labels.to_vec());
        if self.durations.get(&key) == Some(durations) {
            return;
        }
        describe_histogram!(name, metric.unit(), description);
        let histogram = histogram!(name, labels.to_vec());
        let last = self.durations.entry(key).or_default();
        for (micros, count) in &durations.0 {
            let last = last.0.entry(*micros).or_default();
            let new = usize::try_from(count - *last).unwrap_or(usize::MAX);
            histogram.record_many(*micros as f64 / 1e6, new);
            *last = *count;
        }
    }

    /// Sets a gauge. Clients of different namespaces have gauges of their own. Those of one namespace overwrite each
    /// other's, but one that is over does so only once.
    fn set(&mut self, metric: Metric, labels: &[Label], value: f64) {
        let Metric(name, description) = metric;
        let (key, bits) = ((name, labels.to_vec()), value.to_bits());
        let last = self.values.get(&key);
        if last.is_none() {
            describe_gauge!(name, metric.unit(), description);
        }
        if self.is_over && last == Some(&bits) {
            return;
        }
        let mut labels = labels.to_vec();
        labels.push(Label::new("namespace", self.namespace.clone()));
        gauge!(name, labels).set(value);
        self.values.insert(key, bits);
    }
}

/// Declares the metrics: the name in this file, the name that recorders see, and the description.
macro_rules! catalog {
    ($($metric:ident $name:literal $description:literal;)*) => {
        $(const $metric: Metric = Metric($name, $description);)*
    };
}

catalog! {
    ACQUISITIONS "zklock_acquisitions_total" "Calls that wanted a lock, by the end of their wait.";
    WAIT "zklock_wait_seconds" "The time that calls waited for a lock which they acquired.";
    HOLD "zklock_hold_seconds" "The time that calls held a lock.";
    WAITING "zklock_waiting" "Calls that wait for a lock.";
    HELD "zklock_held" "Locks that calls hold.";
    LOSSES "zklock_losses_total" "Locks that were lost while they were held, by the reason.";
    HANDOFFS "zklock_handoffs_total"
        "Locks that a call got from another call of its client, without a request.";
    TURNS "zklock_turns_total" "Nodes under which calls have held a lock, one after the other or together.";
    RELEASE_FAILURES "zklock_release_failures_total" "Locks that could not be released.";
    CANDIDATES "zklock_candidates" "Candidates that stand in elections.";
    LEADERS "zklock_leaders" "Candidates that lead.";
    ELECTIONS "zklock_elections_total" "Elections that a candidate of this client won.";
    TERMS_ENDED "zklock_terms_ended_total" "Terms of leaders that ended, by the reason.";
    ONCE_STARTS "zklock_once_starts_total" "Bodies under once_per that were started.";
    ONCE_SKIPS "zklock_once_skips_total"
        "Bodies under once_per that were not started, because their period had begun.";
    SESSION_STATE "zklock_session_state" "1 for the present state of the session, 0 for the others.";
    SESSIONS "zklock_sessions_total" "Sessions that were opened.";
    RECONNECTS "zklock_reconnects_total" "Connections that were restored within a session.";
    REQUESTS "zklock_requests_total" "Requests to the servers, by whether they read or write.";
    NODE_BYTES "zklock_session_node_bytes"
        "The length of the paths of the session's nodes, of which 900 KiB are allowed.";
    LEASE_REMAINING "zklock_lease_remaining_seconds"
        "The time for which the held locks are certain to stay held.";
    LEASE "zklock_lease_seconds"
        "The time for which held locks are certain to stay held after a heartbeat.";
}

const PERIOD: Duration = Duration::from_secs(1);
const LONGEST_REPORT: Duration = Duration::from_secs(1);
/// The greatest number of names with counts of their own.
const MOST_NAMES: usize = 1_000;
/// The name of the locks beyond that.
const OTHERS: &str = "others";
/// The longest duration in microseconds, which is 12.7 days.
const LONGEST: u64 = (1 << 40) - 1;

#[cfg(test)]
mod tests;
