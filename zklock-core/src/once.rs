//! Work that starts at most once per period, whoever holds the lock or leads.
//!
//! A persistent node, the *tick*, remembers the last start. Whoever is about to start writes to it, in one
//! transaction with a check of its own lock's node, and the server stamps what is written with its own time.
//! From the data and that time everybody can tell whether this was a start, or came too early and changed
//! nothing ([`tick`]): no clock of a client says so. Clients only remember until when asking is in vain
//! ([`memory`]).

mod memory;
mod tick;

use std::sync::Arc;
use std::time::Duration;

use boot_time::Instant;
use futures_util::future::select_all;
use tokio::time::sleep;
use uuid::Uuid;

use crate::client::Client;
use crate::client::worker::Worker;
use crate::error::{LockError, Refusal};
use crate::guard::Guard;
use crate::lease::{LossReason, Tenure};
use crate::path::NodePath;
use crate::session::fault::Fault;
use crate::session::ops::{Base, Stamped};

use self::tick::{Foreign, Period, Record, Tick};

pub(crate) use self::memory::Memory;

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
    /// * [`LockError::Lost`]: the lock is not held any more.
    /// * [`LockError::InvalidPath`] for `tick`, and [`LockError::InvalidConfig`] for a period of less than a
    ///   millisecond.
    /// * [`LockError::Refused`] where the node at `tick` has data of something else, which is left alone, and
    ///   [`LockError::Denied`].
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
        let tenures = self.holds().iter().map(|hold| hold.tenure().clone()).collect();
        start(self.client().worker(), tenures, tick, period).await
    }
}

impl Client {
    /// Tells, from memory, that nobody may start yet at `tick`; `false` where that is not known.
    #[doc(hidden)]
    pub fn is_begun(&self, tick: &str, period: Duration) -> Result<bool, LockError> {
        Ok(self.worker().memory().is_closed(&self.path(tick)?, Period::new(period)?))
    }
}

/// Tells whether work may start at `tick`, while all of the leases are held; if so, the period has begun.
pub(crate) async fn start(
    worker: &Arc<Worker>,
    tenures: Vec<Arc<Tenure>>,
    tick: &str,
    period: Duration,
) -> Result<bool, LockError> {
    let (path, period) = (NodePath::new(worker.root(), tick)?, Period::new(period)?);
    if worker.memory().is_closed(&path, period) {
        return Ok(false);
    }
    let (asked, within) = (Instant::now(), worker.default_wait());
    let attempt = Attempt { tenures, path: path.clone(), period, claim: Uuid::new_v4() };
    let answer = worker.call(within, attempt.run()).await;
    let (tick, may_start) = answer.unwrap_or_else(|unanswered| Err(unanswered.into_error(&path, within)))?;
    worker.memory().note(&path, tick, period, asked);
    Ok(may_start)
}

/// One question whether work may start.
struct Attempt {
    tenures: Vec<Arc<Tenure>>,
    path: NodePath,
    period: Period,
    /// By which a record is known again whose reply was lost.
    claim: Uuid,
}

/// Why there is no answer.
enum Obstacle {
    Fault(Fault),
    /// The lease with this index is lost.
    Lost(usize),
}

impl From<Fault> for Obstacle {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Attempt {
    /// Asks until there is an answer; the caller sets a bound.
    async fn run(self) -> Result<(Tick, bool), LockError> {
        loop {
            match self.write().await {
                Ok(Some(tick)) => return Ok((tick, tick.is_start_of(self.claim))),
                Ok(None) => {}
                Err(Obstacle::Lost(index)) => return Err(self.lost(index, LossReason::NodeDeleted)),
                Err(Obstacle::Fault(Fault::Unknown(_))) => sleep(PAUSE).await,
                Err(Obstacle::Fault(Fault::SessionOver)) => {
                    return Err(self.lost(0, LossReason::SessionEnded));
                }
                Err(Obstacle::Fault(fault)) => return Err(fault.into_error(self.path.relative())),
            }
        }
    }

    /// Writes a record on the ground of what the node says; `None` where it has to be read again.
    async fn write(&self) -> Result<Option<Tick>, Obstacle> {
        let (before, base) = match self.read().await? {
            (Some(tick), _) if tick.settles(self.claim) => return Ok(Some(tick)),
            read => read,
        };
        let record = Record::new(before, self.period, self.claim);
        let nodes = self.nodes().await?;
        let ops = self.tenures[0].session().ops();
        match ops.stamp(&nodes, self.path.full(), record.to_string().as_bytes(), base).await {
            Ok(Stamped::At(written)) => Ok(Some(record.written_at(written))),
            Ok(Stamped::Created) | Err(Fault::Refused(Refusal::BadVersion | Refusal::NodeExists)) => Ok(None),
            Ok(Stamped::Unguarded(index)) => Err(Obstacle::Lost(index)),
            Err(Fault::NoNode) => {
                ops.prepare(self.path.parent()).await?;
                Ok(None)
            }
            Err(fault) => Err(fault.into()),
        }
    }

    async fn read(&self) -> Result<(Option<Tick>, Base), Fault> {
        match self.tenures[0].session().ops().read(self.path.full()).await? {
            Some(read) => match Tick::read(&read.data, read.written_ms) {
                Ok(tick) => Ok((tick, Base::Version(read.version))),
                Err(Foreign) => {
                    Err(Fault::Refused(Refusal::Other("its data is that of something else".into())))
                }
            },
            None => Ok((None, Base::Missing)),
        }
    }

    /// The lock's own nodes, of which none is about to be replaced.
    async fn nodes(&self) -> Result<Vec<Arc<str>>, Obstacle> {
        let lost = select_all(self.tenures.iter().map(|tenure| Box::pin(tenure.lost())));
        tokio::select! {
            biased;
            nodes = Tenure::nodes(&self.tenures) => Ok(nodes),
            (_, index, _) = lost => Err(Obstacle::Lost(index)),
        }
    }

    fn lost(&self, index: usize, reason: LossReason) -> LockError {
        let tenure = &self.tenures[index];
        tenure.lost_error(tenure.lose(reason))
    }
}

/// Between attempts whose outcome is unknown.
const PAUSE: Duration = Duration::from_millis(20);
