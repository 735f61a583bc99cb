//! One task, which repeats operations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zklock::MutexGuard;

use crate::Failure;
use crate::body::{Body, Entered, stay};
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

/// Long enough for connections, caches and branch predictors.
const WARM_UP: Duration = Duration::from_millis(300);
