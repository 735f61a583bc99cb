//! Work that starts at most once per period, whoever holds the lock or leads.
//!
//! A persistent node, the *tick*, remembers the last start. Whoever is about to start writes to it, in one
//! transaction with a check of its own lock's node, and the server stamps what is written with its own time.
//! From the data and that time everybody can tell whether this was a start, or came too early and changed
//! nothing ([`tick`](crate::tick), [`attempt`]): no clock of a client says so. Clients only remember until when asking is in
//! vain ([`Memory`](crate::tick::Memory)).

mod attempt;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use boot_time::Instant;
use uuid::Uuid;

use crate::client::Client;
use crate::client::worker::Worker;
use crate::error::LockError;
use crate::guard::Guard;
use crate::lease::Tenure;
use crate::path::NodePath;
use crate::tick::Period;

use self::attempt::{Attempt, Obstacle};

impl<K> Guard<K> {
    /// Tells whether the caller may start what is to start at most once per `period` in the whole fleet.
    ///
    /// If it may, this is the start of the period: whoever asks next, in whatever process, is told `false` until
    /// the period is over, whether or not the work was done. What is counted is in a persistent node at `tick`,
    /// an absolute path below the client's namespace, which stays when the lock is released. It is written only
    /// while the lock is held, so that nobody starts who lost it.
    ///
    /// Time is that of the servers; the clocks of clients do not matter. A start may come early by a twentieth of
    /// the period, so that a timer of the same period does not miss turns, and the next one is later by as much:
    /// between a start and the `n`th after it lie at least `n` periods less a twentieth of one. Where the servers
    /// elect another leader among them whose clock is wrong, a period is shorter or longer by the difference.
    ///
    /// As long as this client knows that the period is not over, nothing is sent. Otherwise it costs two requests,
    /// and a few more the first time.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`]: the lock is not held any more; the period may count as begun.
    /// * [`LockError::InvalidPath`] for `tick`, and [`LockError::InvalidConfig`] for a period of less than a
    ///   millisecond.
    /// * [`LockError::Refused`] where the node at `tick` has data of something else, is ephemeral, or has or
    ///   had children, as the node of a lock; it is left alone. [`LockError::Denied`] by its ACL.
    /// * [`LockError::Timeout`] without an answer within the client's default wait. The caller may not start, and
    ///   the period may count as begun.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may leave the period begun without a start.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let guard = client.mutex("/invoices")?.lock().await?;
    /// if guard.once_per("/ticks/invoices", std::time::Duration::from_secs(900)).await? {
    ///     // … send invoices …
    /// }
    /// guard.release().await
    /// # }
    /// ```
    pub async fn once_per(&self, tick: &str, period: Duration) -> Result<bool, LockError> {
        self.check()?;
        let tenures: Vec<_> = self.holds().iter().map(|hold| hold.tenure().clone()).collect();
        let held = tenures.clone();
        let check = move || held.iter().try_for_each(|tenure| tenure.check());
        start(self.client().worker(), tenures, check, (tick, period)).await
    }
}

impl Client {
    /// Tells, from memory, that nobody may start yet at `tick`; `false` where that is not known.
    #[doc(hidden)]
    pub fn is_begun(&self, tick: &str, period: Duration) -> Result<bool, LockError> {
        Ok(self.worker().memory().is_closed(&self.path(tick)?, Period::new(period)?))
    }

    /// Asks the servers whether nobody may start yet at `tick`.
    #[doc(hidden)]
    pub async fn has_begun(&self, tick: &str, period: Duration) -> Result<bool, LockError> {
        let (path, period) = (self.path(tick)?, Period::new(period)?);
        let (asked, about) = (Instant::now(), path.clone());
        let question = move |session: Arc<_>| async move { attempt::ask(&session, &about, period).await };
        let Some(tick) = self.worker().ask(&path, question).await? else { return Ok(false) };
        self.worker().memory().note(&path, tick, period, asked);
        Ok(!tick.closed_for(period).is_zero())
    }

    /// Waits until it is known that the period at `tick` has begun, which others tell who wait for the lock.
    ///
    /// The caller sets a bound. What the servers refuse to tell is waited for in vain.
    #[doc(hidden)]
    pub async fn until_begun(&self, tick: &str, period: Duration) {
        let (mut pause, mut known) = (SHORTEST_PAUSE, None);
        loop {
            self.worker().pause(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            match self.has_begun_since(tick, period, &mut known).await {
                Ok(true) => return,
                Ok(false) | Err(LockError::Timeout { .. } | LockError::OutcomeUnknown { .. }) => {}
                Err(_) => return pending().await,
            }
        }
    }

    /// Asks whether the period has begun if there was another start than the one that is known.
    async fn has_begun_since(
        &self,
        tick: &str,
        period: Duration,
        known: &mut Option<Uuid>,
    ) -> Result<bool, LockError> {
        let path = self.path(tick)?;
        let about = path.clone();
        // A look writes nothing, other than the question.
        let look = move |session: Arc<_>| async move { attempt::last_start(&session, &about).await };
        let last = self.worker().ask(&path, look).await?;
        if last == *known {
            return Ok(false);
        }
        let has_begun = self.has_begun(tick, period).await?;
        *known = last;
        Ok(has_begun)
    }
}

/// Before the first look at a tick while a lock is waited for, as most are had sooner, and between two looks.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Tells whether work may start at a tick, once in a period, while all of the leases are held and the check passes;
/// if so, the period has begun.
pub(crate) async fn start(
    worker: &Arc<Worker>,
    tenures: Vec<Arc<Tenure>>,
    check: impl Fn() -> Result<(), LockError> + Clone + Send + Sync + 'static,
    (tick, period): (&str, Duration),
) -> Result<bool, LockError> {
    let (path, period) = (NodePath::new(worker.root(), tick)?, Period::new(period)?);
    if worker.memory().is_closed(&path, period) {
        return Ok(false);
    }
    let (asked, within) = (Instant::now(), worker.default_wait());
    let attempt = Attempt::new(tenures.clone(), path.clone(), period, check.clone());
    let claim = attempt.claim();
    let tick = match worker.call(within, attempt.run()).await {
        Ok(Ok(tick)) => tick,
        // It is told here, where the lock is still held, and not by a task that may have been left behind.
        Ok(Err(Obstacle::Lost(index, reason))) => {
            let tenure = &tenures[index];
            return Err(tenure.lost_error(tenure.lose(reason)));
        }
        Ok(Err(Obstacle::Over(error))) => return Err(error),
        Ok(Err(Obstacle::Fault(fault))) => return Err(fault.into_error(path.relative())),
        Err(unanswered) => return Err(unanswered.into_error(&path, within)),
    };
    worker.memory().note(&path, tick, period, asked);
    let may_start = tick.is_start_of(claim);
    // The answer may have been long on its way.
    if may_start { check().map(|()| true) } else { Ok(false) }
}
