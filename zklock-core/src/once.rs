//! Work that starts at most once per period, regardless of which client holds the lock or leads.
//!
//! A persistent node, the *tick*, remembers the last start. A client that is about to start writes to it, in
//! one transaction with a check of its own lock's node ([`attempt`]). The server stamps the write with the
//! server's time. From the data and that time every client can tell whether the write was a start, or came
//! too early and changed nothing ([`tick`](crate::tick)). No client's clock has a part in that. A client only
//! remembers for how long asking again cannot succeed ([`Memory`](crate::tick::Memory)). Calls that wait for
//! their lock share one reader of the tick ([`readers`]).
//!
//! Uses the floors below: `guard`, `client`, `lease`, `session`, `tick`, `path` and `error`.

mod attempt;
mod readers;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use boot_time::Instant;

use crate::client::Client;
use crate::client::worker::Worker;
use crate::error::LockError;
use crate::guard::Guard;
use crate::lease::Share;
use crate::path::NodePath;
use crate::tick::Period;

use self::attempt::{Attempt, Obstacle};
use self::readers::Readers;

impl<K> Guard<K> {
    /// Returns `true` if the caller may start work that is to start at most once per `period` in the whole
    /// fleet.
    ///
    /// `true` begins the period: until it is over, every further call in any process returns `false`, whether
    /// or not the work was done. The period is recorded in a persistent node at `tick`, an absolute path
    /// below the client's namespace. The node stays when the lock is released, and no server deletes it; if
    /// `tick` has values, one node stays for each value. A node whose period is over can be deleted by hand,
    /// and its parents go with the last one. The node is written only while the lock is held, so a client
    /// that lost the lock cannot begin a period.
    ///
    /// Time is measured by the servers; the clocks of the clients do not matter. A start may come early by up
    /// to a twentieth of the period, so that a timer with the same period does not miss turns. The next start
    /// is then later by as much: a start and the `n`th one after it are at least `n` periods minus a
    /// twentieth of one period apart. If the ensemble elects a new leader whose clock differs, the current
    /// period is shorter or longer by the difference.
    ///
    /// While this client knows that the period is not over, no request is sent. Otherwise a call costs two
    /// requests, and a few more the first time.
    ///
    /// `period` is at least one millisecond; fractions of a millisecond are cut off.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock is not held any more. The period may have begun.
    /// * [`LockError::InvalidPath`] if `tick` is not a valid path.
    /// * [`LockError::InvalidConfig`] if `period` is less than a millisecond.
    /// * [`LockError::Refused`] if the node at `tick` is not a tick: it has other data, is ephemeral, or has
    ///   or had children, like the node of a lock. Such a node is left alone.
    /// * [`LockError::Denied`] if the ACL of the node denies this client access.
    /// * [`LockError::Timeout`] if the servers do not answer within the client's default wait. The caller may
    ///   not start, and the period may have begun.
    /// * [`LockError::Closed`] if the client is shut down. The period may have begun.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the period may have begun without a start.
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
        let shares: Vec<_> = self.holds().iter().map(|hold| hold.share().clone()).collect();
        let held = shares.clone();
        let check = move || held.iter().try_for_each(|share| share.check());
        start(self.client().worker(), shares, check, (tick, period)).await
    }
}

impl Client {
    /// Returns `true` if this client remembers that no start is possible yet at `tick`. No request is sent.
    #[doc(hidden)]
    pub fn is_begun(&self, tick: &str, period: Duration) -> Result<bool, LockError> {
        let is_begun = self.worker().memory().is_closed(&self.path(tick)?, Period::new(period)?);
        if is_begun {
            self.worker().note_skip();
        }
        Ok(is_begun)
    }

    /// Forgets which periods are not over yet. A test that has set the servers' clock forward calls this.
    #[doc(hidden)]
    pub fn forget_periods(&self) {
        self.worker().memory().forget();
    }

    /// Returns `true` if no start is possible yet at `tick`. Asks the servers unless this client remembers it.
    #[doc(hidden)]
    pub async fn has_begun(&self, tick: &str, period: Duration) -> Result<bool, LockError> {
        let has_begun = attempt::has_begun(self.worker(), &self.path(tick)?, Period::new(period)?).await?;
        if has_begun {
            self.worker().note_skip();
        }
        Ok(has_begun)
    }

    /// Waits until the servers confirm that the period at `tick` has begun.
    ///
    /// A waiter for the lock calls this to learn of another client's start before the lock is free. All
    /// waiters of this client share one reader of the tick. The caller bounds the time: if the servers refuse
    /// the requests, the future stays pending.
    #[doc(hidden)]
    pub async fn until_begun(&self, tick: &str, period: Duration) {
        let (Ok(tick), Ok(period)) = (self.path(tick), Period::new(period)) else { return pending().await };
        let readers: &Readers = self.readers().get_or_default();
        let mut begun = readers.join(self.worker(), tick, period);
        if begun.wait_for(|begun| *begun).await.is_err() {
            pending().await
        }
        self.worker().note_skip();
    }
}

/// Returns `true` if work that starts at most once per period may start now.
///
/// `true` begins the period at the tick. It requires that all of the leases are held and that the check passes.
pub(crate) async fn start(
    worker: &Arc<Worker>,
    shares: Vec<Arc<Share>>,
    check: impl Fn() -> Result<(), LockError> + Clone + Send + Sync + 'static,
    (tick, period): (&str, Duration),
) -> Result<bool, LockError> {
    let (path, period) = (NodePath::new(worker.root(), tick)?, Period::new(period)?);
    if worker.memory().is_closed(&path, period) {
        worker.note_skip();
        return Ok(false);
    }
    let (asked, within) = (Instant::now(), worker.default_wait());
    let attempt = Attempt::new(shares.clone(), path.clone(), period, check.clone());
    let claim = attempt.claim();
    let tick = match worker.call(within, attempt.run()).await {
        Ok(Ok(tick)) => tick,
        // The lease is ended here, where the guard still exists, and not by the task, which the caller may
        // have abandoned.
        Ok(Err(Obstacle::Lost(index, reason))) => {
            let tenure = shares[index].tenure();
            return Err(tenure.lost_error(tenure.lose(reason)));
        }
        Ok(Err(Obstacle::Over(error))) => return Err(error),
        Ok(Err(Obstacle::Fault(fault))) => return Err(fault.into_error(path.relative())),
        Err(unanswered) => return Err(unanswered.into_error(&path, within)),
    };
    attempt::note(worker, &path, tick, period, asked);
    let may_start = tick.is_start_of(claim);
    // The answer may have been delayed for longer than the lease.
    if may_start {
        check()?;
        worker.note_start();
    } else {
        worker.note_skip();
    }
    Ok(may_start)
}
