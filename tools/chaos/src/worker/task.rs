//! The calls of one task, and the records of them.

use std::sync::Arc;
use std::time::Duration;

use crate::history::{CallId, Event, Kind, Process, Source, Token, Why};
use fastrand::Rng;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use zklock::{Client, FencingToken, Guard, LockError};

use crate::journal::{Journal, now};
use crate::orders::{Orders, WAIT};

/// The client, the history and the resources that all tasks of a process share.
pub(super) struct Ways {
    pub(super) client: Client,
    pub(super) journal: Journal,
    pub(super) orders: Orders,
    pub(super) stopped: watch::Receiver<bool>,
}

/// One task, with the number of its next call and its own random numbers.
pub(super) struct Task {
    pub(super) ways: Arc<Ways>,
    pub(super) rng: Rng,
    number: u32,
    calls: u64,
}

/// The records of one call, or of the members of a call that takes several locks as one.
pub(super) struct Calls {
    pub(super) ways: Arc<Ways>,
    ids: Vec<CallId>,
}

impl Ways {
    /// Returns the true length of a time that this process measures.
    fn by_the_true_clock(&self, nanos: u64) -> u64 {
        nanos * 1_000 / u64::from(self.orders.rate)
    }
}

impl Task {
    pub(super) fn new(ways: &Arc<Ways>, number: u32) -> Self {
        let Process { number: process, incarnation } = ways.orders.process;
        let parts = [ways.orders.seed, process.into(), incarnation.into(), number.into()];
        let mix = |mixed: u64, part: u64| (mixed ^ part).wrapping_mul(FACTOR).rotate_left(31);
        let rng = Rng::with_seed(parts.into_iter().fold(0, mix));
        Self { ways: ways.clone(), rng, number, calls: 0 }
    }

    pub(super) fn is_stopped(&self) -> bool {
        *self.ways.stopped.borrow()
    }

    /// Notes that a call wants a lock, or several as one.
    pub(super) fn asks(&mut self, locks: &[&str], kind: Kind) -> Calls {
        let first = self.calls;
        self.calls += locks.len() as u64;
        let process = self.ways.orders.process;
        let ids = (first..).take(locks.len()).map(|call| CallId { process, task: self.number, call });
        let calls = Calls { ways: self.ways.clone(), ids: ids.collect() };
        for (id, lock) in calls.ids.iter().zip(locks) {
            let within = self.ways.by_the_true_clock(WAIT.as_nanos() as u64);
            let event = Event::Asked { lock: (*lock).to_owned(), kind, within };
            calls.ways.journal.note(Source::Call(*id), event);
        }
        calls
    }

    /// Draws the time after which the task gives the call up, if it does.
    pub(super) fn patience(&mut self) -> Option<Duration> {
        (self.rng.u8(..12) == 0).then(|| Duration::from_millis(self.rng.u64(..200)))
    }

    /// Draws the length of a body, which is mostly short.
    pub(super) fn work(&mut self) -> Duration {
        Duration::from_millis(match self.rng.u8(..100) {
            0 => self.rng.u64(1_000..4_000),
            1..8 => self.rng.u64(50..300),
            _ => self.rng.u64(1..20),
        })
    }

    /// Draws the length of a body that is often so long that its lock can be lost.
    pub(super) fn long_work(&mut self) -> Duration {
        if self.rng.bool() { Duration::from_millis(self.rng.u64(1_000..5_000)) } else { self.work() }
    }

    /// Pauses between two calls.
    pub(super) async fn pause(&mut self) {
        sleep(Duration::from_millis(self.rng.u64(1..60))).await;
    }
}

impl Calls {
    /// Waits for a lock, and notes why there is none.
    pub(super) async fn wait<G>(
        &self,
        patience: Option<Duration>,
        locking: impl Future<Output = Result<G, LockError>>,
    ) -> Option<G> {
        let mut stopped = self.ways.stopped.clone();
        let given_up = async {
            match patience {
                None => drop(stopped.wait_for(|stopped| *stopped).await),
                Some(after) => sleep(after).await,
            }
        };
        tokio::select! {
            locked = locking => match locked {
                Ok(guard) => return Some(guard),
                Err(error) => self.failed(&error),
            },
            () = given_up => self.note(&Event::GaveUp { why: Why::Cancelled }),
        }
        None
    }

    pub(super) fn failed(&self, error: &LockError) {
        let why = if error.is_timeout() { Why::TimedOut } else { Why::Error(format!("{error:?}")) };
        self.note(&Event::GaveUp { why });
    }

    /// Holds a lock for the length of a body, and gives it back.
    pub(super) async fn hold<K>(
        &self,
        guard: Guard<K>,
        tokens: &[FencingToken],
        body: impl Future<Output = ()>,
    ) {
        self.granted(tokens, guard.scope(async { self.lease_end() }).await);
        let ran = guard.run(body).await;
        match &ran {
            // The lease lasted as long as the body, even if the body noted nothing meanwhile.
            Ok(()) => guard.scope(async { self.renewed() }).await,
            Err(error) => self.told_lost(error),
        }
        self.note(&Event::ReleaseBegun);
        match guard.release().await {
            Ok(()) => self.note(&Event::Released),
            Err(error) if error.is_lost() => {
                if ran.is_ok() {
                    self.told_lost(&error);
                }
                self.note(&Event::Released);
            }
            Err(error) => self.note(&Event::ReleaseFailed { text: error.to_string() }),
        }
    }

    pub(super) fn granted(&self, tokens: &[FencingToken], until: u64) {
        for (id, token) in self.ids.iter().zip(tokens) {
            let event = Event::Granted { token: Token(token.zxid(), token.handoff()), until };
            self.ways.journal.note(Source::Call(*id), event);
        }
    }

    pub(super) fn told_lost(&self, error: &LockError) {
        self.note(&Event::ToldLost { reason: error.to_string() });
    }

    /// Works for some time inside of a hold, or until the process is to stop, and notes the ends of the lease.
    pub(super) async fn work(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && !*self.ways.stopped.borrow() {
            sleep_until(end.min(Instant::now() + RENEWALS)).await;
            self.renewed();
        }
    }

    /// Notes the end of the lease, unless it is over.
    pub(super) fn renewed(&self) {
        // A lease that is over seems to end when that is computed.
        let until = self.lease_end();
        if until > now() {
            self.note(&Event::Renewed { until });
        }
    }

    /// Returns the time at which the lease of the innermost lock runs out, by the true clock, or a time that has passed.
    pub(super) fn lease_end(&self) -> u64 {
        let now = now();
        let remaining = zklock::current().map_or(Duration::ZERO, |lock| lock.remaining());
        let nanos = u64::try_from(remaining.as_nanos()).unwrap_or_default();
        now + self.ways.by_the_true_clock(nanos)
    }

    pub(super) fn note(&self, event: &Event) {
        for id in &self.ids {
            self.ways.journal.note(Source::Call(*id), event.clone());
        }
    }

    /// Notes an event of one of the members.
    pub(super) fn note_of(&self, member: usize, event: Event) {
        self.ways.journal.note(Source::Call(self.ids[member]), event);
    }

    /// Returns a value that no other write has: it names the call.
    pub(super) fn value(&self, member: usize) -> u64 {
        let CallId { process, task, call } = self.ids[member];
        let incarnation = u64::from(process.incarnation & 0xfff);
        u64::from(process.number) << 54 | incarnation << 42 | u64::from(task & 0xff) << 34 | (call + 1)
    }
}

/// An event that is noted when this value is dropped, also because the call has ended.
pub(super) struct Noted<'a> {
    pub(super) calls: &'a Calls,
    pub(super) member: usize,
    pub(super) event: Event,
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.calls.note_of(self.member, self.event.clone());
    }
}

/// The time between two records of the end of a lease.
const RENEWALS: Duration = Duration::from_millis(250);
/// An odd number with many bits, by which seeds are mixed.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
