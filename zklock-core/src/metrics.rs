//! Counts what happens to the locks of a client, and hands the counts to the recorder of the crate `metrics`.
//!
//! The counts are atomics, so that an event costs no more than that, in any thread. A recorder is code of users, so it
//! runs on a thread of its own, `zklock-metrics`, once a second and at the client's end, and never on the client's
//! thread or on that of a call.
//!
//! Uses the layers below: `event`, `session`, `mode` and `error`.

use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use metrics::{
    Label, SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};

use crate::error::LossReason;
use crate::event::{LockEventKind, Outcome};
use crate::mode::Mode;
use crate::session::Health;
use crate::session::counts::Tally;

/// The counts of one client.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    locks: RwLock<HashMap<Arc<str>, Vec<Arc<LockCounters>>>>,
    /// The bodies that were started under `once_per`.
    starts: AtomicU64,
    /// The bodies that were not, because their period had begun.
    skips: AtomicU64,
}

impl Counters {
    pub(crate) fn note_start(&self) {
        self.starts.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_skip(&self) {
        self.skips.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counts of locks with this name. Once there are [`MOST_NAMES`], further ones share one.
    pub(crate) fn of(&self, label: &str, mode: Mode) -> Arc<LockCounters> {
        // Without the write lock if there are any, because it would make the calls of all threads wait.
        let known = find(&self.locks.read().unwrap_or_else(PoisonError::into_inner), label, mode);
        known.unwrap_or_else(|| {
            let mut locks = self.locks.write().unwrap_or_else(PoisonError::into_inner);
            find(&locks, label, mode).unwrap_or_else(|| {
                let new = Arc::new(LockCounters::new(name_in(&locks, label).into(), mode));
                locks.entry(new.label.clone()).or_default().push(new.clone());
                new
            })
        })
    }

    fn all(&self) -> Vec<Arc<LockCounters>> {
        let locks = self.locks.read().unwrap_or_else(PoisonError::into_inner);
        locks.values().flatten().cloned().collect()
    }
}

type ByName = HashMap<Arc<str>, Vec<Arc<LockCounters>>>;

fn find(locks: &ByName, label: &str, mode: Mode) -> Option<Arc<LockCounters>> {
    locks.get(name_in(locks, label))?.iter().find(|counters| counters.mode == mode).cloned()
}

/// Returns the name under which the locks with this label are counted.
fn name_in<'a>(locks: &ByName, label: &'a str) -> &'a str {
    if locks.len() >= MOST_NAMES && !locks.contains_key(label) { OTHERS } else { label }
}

/// The counts of all locks, or elections, with one name and one mode.
#[derive(Debug)]
pub(crate) struct LockCounters {
    label: Arc<str>,
    mode: Mode,
    counts: [AtomicU64; Count::Turn as usize + 1],
    /// The waits of calls that have acquired the lock.
    waits: Durations,
    holds: Durations,
}

/// What is counted of a lock or an election. A candidate that is elected has acquired its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Begun,
    Acquired,
    Contended,
    TimedOut,
    Cancelled,
    Refused,
    Failed,
    Withdrawn,
    Released,
    PassedOn,
    ReleaseFailed,
    NodeDeleted,
    OwnerChanged,
    SessionEnded,
    LeaseExpired,
    Suspended,
    Resigned,
    Turn,
}

impl LockCounters {
    fn new(label: Arc<str>, mode: Mode) -> Self {
        let counts = std::array::from_fn(|_| AtomicU64::default());
        Self { label, mode, counts, waits: Durations::default(), holds: Durations::default() }
    }

    /// Counts an event.
    pub(crate) fn note(&self, kind: &LockEventKind) {
        match kind {
            LockEventKind::Begun => self.add(Count::Begun),
            LockEventKind::Contended { .. } => self.add(Count::Contended),
            LockEventKind::TimedOut { .. } => self.add(Count::TimedOut),
            LockEventKind::Cancelled { .. } => self.add(Count::Cancelled),
            LockEventKind::Refused { .. } => self.add(Count::Refused),
            LockEventKind::Failed { .. } => self.add(Count::Failed),
            LockEventKind::Withdrawn => self.add(Count::Withdrawn),
            LockEventKind::Acquired { waited, .. } | LockEventKind::Elected { waited, .. } => {
                self.waits.note(*waited);
                self.add(Count::Acquired);
            }
            LockEventKind::Released { held, .. } => self.end(Count::Released, *held),
            LockEventKind::PassedOn { held, .. } => self.end(Count::PassedOn, *held),
            LockEventKind::ReleaseFailed { held, .. } => self.end(Count::ReleaseFailed, *held),
            LockEventKind::Resigned { held, .. } => self.end(Count::Resigned, *held),
            LockEventKind::Lost { held, reason, .. } => {
                if let Some((count, _)) = REASONS.iter().find(|(_, known)| known == reason) {
                    self.end(*count, *held);
                }
            }
            LockEventKind::Queued { .. }
            | LockEventKind::Suspended { .. }
            | LockEventKind::Confirmed { .. }
            | LockEventKind::Downgraded { .. }
            | LockEventKind::Rejected { .. }
            | LockEventKind::TickAhead { .. } => {}
        }
    }

    /// Counts a node under which nobody has held the lock before.
    pub(crate) fn note_turn(&self) {
        self.add(Count::Turn);
    }

    fn end(&self, count: Count, held: Duration) {
        self.holds.note(held);
        self.add(count);
    }

    fn add(&self, count: Count) {
        self.counts[count as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, count: Count) -> u64 {
        self.counts[count as usize].load(Ordering::Relaxed)
    }

    /// Returns the number of calls, or candidates, that wait. An elected candidate is one that stays.
    fn waiting(&self) -> u64 {
        let ended = match self.mode {
            Mode::Leader => self.get(Count::Withdrawn),
            _ => OUTCOMES.iter().map(|(count, _)| self.get(*count)).sum(),
        };
        self.get(Count::Begun).saturating_sub(ended)
    }

    /// Returns the number of holds, or terms, that have not ended.
    fn held(&self) -> u64 {
        let given_back =
            [Count::Released, Count::PassedOn, Count::ReleaseFailed].map(|count| self.get(count));
        let lost = REASONS.map(|(count, _)| self.get(count));
        let ended: u64 = given_back.iter().chain(&lost).sum();
        self.get(Count::Acquired).saturating_sub(ended)
    }
}

/// The ends of waits of calls.
const OUTCOMES: [(Count, Outcome); 6] = [
    (Count::Acquired, Outcome::Acquired),
    (Count::Contended, Outcome::Contended),
    (Count::TimedOut, Outcome::TimedOut),
    (Count::Cancelled, Outcome::Cancelled),
    (Count::Refused, Outcome::Refused),
    (Count::Failed, Outcome::Failed),
];
/// The losses of locks, and the ends of terms.
const REASONS: [(Count, LossReason); 6] = [
    (Count::NodeDeleted, LossReason::NodeDeleted),
    (Count::OwnerChanged, LossReason::OwnerChanged),
    (Count::SessionEnded, LossReason::SessionEnded),
    (Count::LeaseExpired, LossReason::LeaseExpired),
    (Count::Suspended, LossReason::Suspended),
    (Count::Resigned, LossReason::Resigned),
];

/// The numbers of durations in intervals whose width grows with them: an interval is a sixteenth of its octave.
///
/// It takes no more memory if a recorder blocks for long.
struct Durations([AtomicU64; INTERVALS]);

impl Durations {
    fn note(&self, duration: Duration) {
        self.0[interval(duration)].fetch_add(1, Ordering::Relaxed);
    }

    fn counts(&self) -> Vec<u64> {
        self.0.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

impl Default for Durations {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl fmt::Debug for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Durations").field(&self.counts().iter().sum::<u64>()).finish()
    }
}

/// Returns the interval of a duration. Beyond 2^40 µs, which is 12.7 days, it is the last one.
fn interval(duration: Duration) -> usize {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    if micros < PARTS {
        return micros as usize;
    }
    let octave = u64::from(micros.ilog2());
    // The bits behind the first one.
    let part = (micros >> (octave - PART_BITS)) - PARTS;
    let place = (octave - PART_BITS + 1) * PARTS + part;
    (place as usize).min(INTERVALS - 1)
}

/// Returns the middle of an interval in seconds.
fn middle(interval: usize) -> f64 {
    let (octave, part) = (interval as u64 / PARTS, interval as u64 % PARTS);
    let micros = match octave {
        0 => part as f64 + 0.5,
        _ => ((PARTS + part) as f64 + 0.5) * ((1_u64 << (octave - 1)) as f64),
    };
    micros / 1e6
}

/// The state of a client that is not counted.
pub(crate) struct State {
    pub(crate) health: Health,
    /// The bytes of the paths of the session's nodes.
    pub(crate) node_bytes: usize,
    /// `None` without held locks.
    pub(crate) lease: Option<Lasting>,
}

/// The time for which the held locks are certain to stay held.
pub(crate) struct Lasting {
    /// The time right after a server has answered.
    pub(crate) full: Duration,
    pub(crate) remaining: Duration,
}

/// The thread that reports. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Reports(Sender<Sender<()>>);

impl Reports {
    /// Starts the thread. `state` returns `None` for a client that is gone.
    pub(crate) fn start(
        (counters, tally): (Arc<Counters>, Arc<Tally>),
        root: &str,
        state: impl Fn() -> Option<State> + Send + 'static,
    ) -> Option<Self> {
        let (reports, orders) = mpsc::channel();
        let exporter = Exporter::new(counters, tally, root);
        let thread = thread::Builder::new().name("zklock-metrics".into());
        match thread.spawn(move || exporter.run(&orders, state)) {
            Ok(_) => Some(Self(reports)),
            Err(error) => {
                tracing::warn!(%error, "cannot start the thread that records metrics");
                None
            }
        }
    }

    /// Has the last report of the client's thread made, and waits for that a moment: the recorder may block.
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
    is_over: bool,
    has_panicked: bool,
    /// The values of the counters, and the bits of those of the gauges, in the last report.
    values: HashMap<Key, u64>,
    /// The counts of the histograms in the last report.
    durations: HashMap<Key, Vec<u64>>,
}

/// A name and the values of its labels.
type Key = (&'static str, Vec<SharedString>);
/// The name and the value of a label. A value that is not static is shared, so that a copy costs little.
type Tag = (&'static str, SharedString);

impl Exporter {
    fn new(counters: Arc<Counters>, tally: Arc<Tally>, root: &str) -> Self {
        let namespace = SharedString::from_shared(if root.is_empty() { "/" } else { root }.into());
        let (values, durations) = Default::default();
        Self { counters, tally, namespace, is_over: false, has_panicked: false, values, durations }
    }

    fn run(mut self, orders: &Receiver<Sender<()>>, state: impl Fn() -> Option<State>) {
        self.record(|_| describe());
        let mut is_over = false;
        loop {
            let order = orders.recv_timeout(PERIOD);
            // The order comes from the client's thread at its end. Handles may still count calls, all of which fail.
            is_over |= order.is_ok();
            let state = if is_over { None } else { state() };
            self.record(|exporter| exporter.report(state));
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

    fn report(&mut self, state: Option<State>) {
        self.is_over = state.is_none();
        let counters = self.counters.clone();
        for lock in counters.all() {
            self.report_lock(&lock);
        }
        self.count(ONCE_STARTS, &[], counters.starts.load(Ordering::Relaxed));
        self.count(ONCE_SKIPS, &[], counters.skips.load(Ordering::Relaxed));
        self.count(SESSIONS, &[], self.tally.sessions());
        self.count(RECONNECTS, &[], self.tally.reconnects());
        self.count(REQUESTS, &[("kind", "read".into())], self.tally.reads());
        self.count(REQUESTS, &[("kind", "write".into())], self.tally.writes());
        self.report_state(state);
    }

    fn report_lock(&mut self, lock: &LockCounters) {
        let name = ("lock", SharedString::from_shared(lock.label.clone()));
        let kind = ("kind", SharedString::const_str(lock.mode.name()));
        self.count(RELEASE_FAILURES, &[name.clone(), kind.clone()], lock.get(Count::ReleaseFailed));
        match lock.mode {
            Mode::Leader => self.report_election(lock, name),
            _ => self.report_calls(lock, [name, kind]),
        }
    }

    fn report_calls(&mut self, lock: &LockCounters, of: [Tag; 2]) {
        let with = |label, value: &'static str| [of[0].clone(), of[1].clone(), (label, value.into())];
        for (count, outcome) in OUTCOMES {
            self.count(ACQUISITIONS, &with("outcome", outcome.name()), lock.get(count));
        }
        for (count, reason) in REASONS {
            // The other reasons are those of terms.
            if !matches!(reason, LossReason::Suspended | LossReason::Resigned) {
                self.count(LOSSES, &with("reason", reason.name()), lock.get(count));
            }
        }
        self.count(HANDOFFS, &of, lock.get(Count::PassedOn));
        self.count(TURNS, &of, lock.get(Count::Turn));
        self.time(WAIT, &of, &lock.waits);
        self.time(HOLD, &of, &lock.holds);
        self.set(WAITING, &of, lock.waiting() as f64);
        self.set(HELD, &of, lock.held() as f64);
    }

    fn report_election(&mut self, election: &LockCounters, name: Tag) {
        self.count(ELECTIONS, std::slice::from_ref(&name), election.get(Count::Acquired));
        for (count, reason) in REASONS {
            let ended = election.get(count)
                + if reason == LossReason::Resigned { election.get(Count::ReleaseFailed) } else { 0 };
            self.count(TERMS_ENDED, &[name.clone(), ("reason", reason.name().into())], ended);
        }
        self.set(CANDIDATES, std::slice::from_ref(&name), election.waiting() as f64);
        self.set(LEADERS, &[name], election.held() as f64);
    }

    fn report_state(&mut self, state: Option<State>) {
        let health = state.as_ref().map(|state| state.health);
        for (name, one) in
            [("connected", Health::Connected), ("suspended", Health::Suspended), ("lost", Health::Lost)]
        {
            let is_present = if health == Some(one) { 1.0 } else { 0.0 };
            self.set(SESSION_STATE, &[("state", name.into())], is_present);
        }
        let node_bytes = state.as_ref().map_or(0, |state| state.node_bytes);
        self.set(NODE_BYTES, &[], node_bytes as f64);
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
        let last = self.values.get(&key).copied();
        if last != Some(value) {
            counter!(name, of(labels)).increment(value - last.unwrap_or_default());
            self.values.insert(key, value);
        }
    }

    /// Adds the new durations to a histogram. The first report makes the histogram known.
    fn time(&mut self, name: &'static str, labels: &[Tag], durations: &Durations) {
        let last = self.durations.entry(key(name, labels)).or_default();
        let counts = durations.counts();
        if *last == counts {
            return;
        }
        let histogram = histogram!(name, of(labels));
        last.resize(INTERVALS, 0);
        for (interval, (last, count)) in last.iter_mut().zip(counts).enumerate() {
            if count > *last {
                let new = usize::try_from(count - *last).unwrap_or(usize::MAX);
                histogram.record_many(middle(interval), new);
                *last = count;
            }
        }
    }

    /// Sets a gauge. Clients of different namespaces have gauges of their own. Those of one namespace overwrite each
    /// other's, but one that is over does so only once.
    fn set(&mut self, name: &'static str, labels: &[Tag], value: f64) {
        let (key, bits) = (key(name, labels), value.to_bits());
        if self.is_over && self.values.get(&key) == Some(&bits) {
            return;
        }
        let mut labels = of(labels);
        labels.push(Label::new("namespace", self.namespace.clone()));
        gauge!(name, labels).set(value);
        self.values.insert(key, bits);
    }
}

fn of(labels: &[Tag]) -> Vec<Label> {
    labels.iter().map(|(name, value)| Label::new(*name, value.clone())).collect()
}

fn key(name: &'static str, labels: &[Tag]) -> Key {
    (name, labels.iter().map(|(_, value)| value.clone()).collect())
}

const ACQUISITIONS: &str = "zklock_acquisitions_total";
const WAIT: &str = "zklock_wait_seconds";
const HOLD: &str = "zklock_hold_seconds";
const WAITING: &str = "zklock_waiting";
const HELD: &str = "zklock_held";
const LOSSES: &str = "zklock_losses_total";
const HANDOFFS: &str = "zklock_handoffs_total";
const TURNS: &str = "zklock_turns_total";
const RELEASE_FAILURES: &str = "zklock_release_failures_total";
const CANDIDATES: &str = "zklock_candidates";
const LEADERS: &str = "zklock_leaders";
const ELECTIONS: &str = "zklock_elections_total";
const TERMS_ENDED: &str = "zklock_terms_ended_total";
const ONCE_STARTS: &str = "zklock_once_starts_total";
const ONCE_SKIPS: &str = "zklock_once_skips_total";
const SESSION_STATE: &str = "zklock_session_state";
const SESSIONS: &str = "zklock_sessions_total";
const RECONNECTS: &str = "zklock_reconnects_total";
const REQUESTS: &str = "zklock_requests_total";
const NODE_BYTES: &str = "zklock_session_node_bytes";
const LEASE_REMAINING: &str = "zklock_lease_remaining_seconds";
const LEASE: &str = "zklock_lease_seconds";

const COUNTERS: [(&str, &str); 12] = [
    (ACQUISITIONS, "Calls that wanted a lock, by the end of their wait."),
    (LOSSES, "Locks that were lost while they were held, by the reason."),
    (HANDOFFS, "Locks that a call got from another call of its client, without a request."),
    (TURNS, "Nodes under which calls have held a lock, one after the other or together."),
    (RELEASE_FAILURES, "Locks that could not be released."),
    (ELECTIONS, "Elections that a candidate of this client won."),
    (TERMS_ENDED, "Terms of leaders that ended, by the reason."),
    (ONCE_STARTS, "Bodies under once_per that were started."),
    (ONCE_SKIPS, "Bodies under once_per that were not started, because their period had begun."),
    (SESSIONS, "Sessions that were opened."),
    (RECONNECTS, "Connections that were restored within a session."),
    (REQUESTS, "Requests to the servers, by whether they read or write."),
];

const GAUGES: [(&str, Unit, &str); 8] = [
    (WAITING, Unit::Count, "Calls that wait for a lock."),
    (HELD, Unit::Count, "Locks that calls hold."),
    (CANDIDATES, Unit::Count, "Candidates that stand in elections."),
    (LEADERS, Unit::Count, "Candidates that lead."),
    (SESSION_STATE, Unit::Count, "1 for the present state of the session, 0 for the others."),
    (
        NODE_BYTES,
        Unit::Bytes,
        "The length of the paths of the session's nodes, of which 900 KiB are allowed.",
    ),
    (LEASE_REMAINING, Unit::Seconds, "The time for which the held locks are certain to stay held."),
    (LEASE, Unit::Seconds, "The time for which held locks are certain to stay held after a heartbeat."),
];

const HISTOGRAMS: [(&str, &str); 2] = [
    (WAIT, "The time that calls waited for a lock which they acquired."),
    (HOLD, "The time that calls held a lock."),
];

/// Describes all metrics to the recorder.
fn describe() {
    for (name, description) in COUNTERS {
        describe_counter!(name, Unit::Count, description);
    }
    for (name, unit, description) in GAUGES {
        describe_gauge!(name, unit, description);
    }
    for (name, description) in HISTOGRAMS {
        describe_histogram!(name, Unit::Seconds, description);
    }
}

const PERIOD: Duration = Duration::from_secs(1);
const LONGEST_REPORT: Duration = Duration::from_secs(1);
/// The greatest number of names with counts of their own.
const MOST_NAMES: usize = 1_000;
/// The name of the locks beyond that.
const OTHERS: &str = "others";
const PART_BITS: u64 = 4;
/// The number of intervals of an octave.
const PARTS: u64 = 1 << PART_BITS;
/// From a microsecond to 2^40 of them.
const INTERVALS: usize = 37 * PARTS as usize;

#[cfg(test)]
mod tests;
