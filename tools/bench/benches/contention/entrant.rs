//! One task, which repeats operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zklock::MutexGuard;

use crate::Failure;
use crate::lock::{Lock, Session};
use crate::options::Options;

/// One task and its lock.
pub(crate) struct Entrant {
    options: Arc<Options>,
    session: (u32, Session),
    lock: Lock,
    /// The outer hold of a lock that is entered again.
    held: Option<MutexGuard>,
}

/// The operations of a task.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) latencies: Vec<Duration>,
    /// The order and the session of each acquisition.
    pub(crate) acquisitions: Vec<(u64, u32)>,
    pub(crate) longest_wait: Duration,
}

impl Entrant {
    /// Repeats operations at the task's own lock for a moment.
    pub(crate) async fn warmed_up(
        options: Arc<Options>,
        session: (u32, Session),
        own: String,
    ) -> Result<Self, Failure> {
        let lock = Lock::new(&options, &session.1, &own).await?;
        let held = match lock.reentrant() {
            Some(mutex) => Some(mutex.lock().await?),
            None => None,
        };
        let entrant = Self { options, session, lock, held };
        entrant.repeat(&Body::new(Duration::ZERO), Instant::now() + WARM_UP).await?;
        Ok(entrant)
    }

    pub(crate) async fn run(self, body: Arc<Body>, until: Instant) -> Result<Record, Failure> {
        self.repeat(&body, until).await
    }

    /// Repeats operations, and pauses after each.
    async fn repeat(&self, body: &Body, until: Instant) -> Result<Record, Failure> {
        let mut record = Record::default();
        let repeated = async {
            let mut number = 0;
            while Instant::now() < until {
                let start = Instant::now();
                let entered = self.lock.operate(number, body).await?;
                record.add(self.session.0, start, entered);
                stay(self.options.pause).await;
                number += 1;
            }
            body.end();
            Ok::<_, Failure>(())
        };
        self.inside(repeated).await?;
        Ok(record)
    }

    /// Runs a future with the client of the session, and inside the outer hold if there is one.
    async fn inside<F: Future>(&self, future: F) -> F::Output {
        let future = async {
            match &self.held {
                Some(held) => held.scope(future).await,
                None => future.await,
            }
        };
        match &self.session.1 {
            Session::Zklock(client) => zklock::scope(client.clone(), future).await,
            Session::Raw(..) => future.await,
        }
    }
}

impl Record {
    fn add(&mut self, session: u32, start: Instant, entered: Entered) {
        self.latencies.push(start.elapsed());
        self.acquisitions.push((entered.order, session));
        self.longest_wait = self.longest_wait.max(entered.at.duration_since(start));
    }

    /// Adds the operations of another task.
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.latencies.extend(other.latencies);
        self.acquisitions.extend(other.acquisitions);
        self.longest_wait = self.longest_wait.max(other.longest_wait);
        self
    }
}

/// The body of all critical sections of a measurement.
pub(crate) struct Body {
    entered: AtomicU64,
    /// The number of acquisitions when the first task ended.
    contended: AtomicU64,
    hold: Duration,
}

/// One acquisition.
#[derive(Clone, Copy)]
pub(crate) struct Entered {
    /// The number of acquisitions before this one.
    pub(crate) order: u64,
    pub(crate) at: Instant,
}

impl Body {
    pub(crate) fn new(hold: Duration) -> Self {
        Self { entered: AtomicU64::new(0), contended: AtomicU64::new(u64::MAX), hold }
    }

    pub(crate) async fn run(&self) -> Entered {
        let at = Instant::now();
        let entered = Entered { order: self.entered.fetch_add(1, Ordering::Relaxed), at };
        stay(self.hold).await;
        entered
    }

    /// Records that a task ends, and contends no more.
    pub(crate) fn end(&self) {
        self.contended.fetch_min(self.entered.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Returns how many acquisitions there were before the first task ended.
    pub(crate) fn contended(&self) -> u64 {
        self.contended.load(Ordering::Relaxed)
    }
}

/// Waits for this time.
///
/// Tokio's timer would round it up to the next millisecond.
async fn stay(time: Duration) {
    if !time.is_zero() {
        // It panics only if the sleep does.
        let _ = tokio::task::spawn_blocking(move || std::thread::sleep(time)).await;
    }
}

/// Long enough for connections, caches and branch predictors.
const WARM_UP: Duration = Duration::from_millis(300);
