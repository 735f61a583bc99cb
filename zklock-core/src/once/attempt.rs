//! Asks the servers whether work may start, and whether its period has begun.

use std::sync::Arc;
use std::time::Duration;

use boot_time::Instant;
use futures_util::future::select_all;
use tokio::time::sleep;
use uuid::Uuid;

use crate::client::worker::Worker;
use crate::error::{LockError, LossReason, Refusal};
use crate::lease::Tenure;
use crate::path::NodePath;
use crate::session::Session;
use crate::session::fault::Fault;
use crate::session::ops::{Base, Stamped};
use crate::tick::{Foreign, Period, Record, Tick};

/// One attempt to begin a period.
pub(super) struct Attempt<C> {
    tenures: Vec<Arc<Tenure>>,
    path: NodePath,
    period: Period,
    /// Fails if the work may not go on.
    check: C,
    /// The identifier of this attempt's record, by which it is found if the reply to its write was lost.
    claim: Uuid,
}

/// The reason why an attempt has no answer.
pub(super) enum Obstacle {
    Fault(Fault),
    /// The lease with this index is lost.
    Lost(usize, LossReason),
    /// The check failed.
    Over(LockError),
}

impl From<Fault> for Obstacle {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::SessionOver => Self::Lost(0, LossReason::SessionEnded),
            fault => Self::Fault(fault),
        }
    }
}

impl<C: Fn() -> Result<(), LockError>> Attempt<C> {
    pub(super) fn new(tenures: Vec<Arc<Tenure>>, path: NodePath, period: Period, check: C) -> Self {
        Self { tenures, path, period, check, claim: Uuid::new_v4() }
    }

    pub(super) fn claim(&self) -> Uuid {
        self.claim
    }

    /// Repeats the attempt until it has an answer. The caller bounds the time.
    pub(super) async fn run(self) -> Result<Tick, Obstacle> {
        loop {
            match self.write().await {
                Ok(Some(tick)) => return Ok(tick),
                Ok(None) => {}
                Err(Obstacle::Fault(Fault::Unknown(_))) => sleep(PAUSE).await,
                Err(obstacle) => return Err(obstacle),
            }
        }
    }

    /// Reads the node and writes a record based on it. Returns `None` if the node has to be read again.
    async fn write(&self) -> Result<Option<Tick>, Obstacle> {
        let session = self.tenures[0].session();
        let (before, base) = match read(session, &self.path).await? {
            (Some(tick), _) if tick.settles(self.claim) => return Ok(Some(tick)),
            read => read,
        };
        let record = Record::new(before, self.period, self.claim);
        let nodes = self.nodes().await?;
        (self.check)().map_err(Obstacle::Over)?;
        let ops = session.ops();
        match ops.stamp(&nodes, self.path.full(), record.to_string().as_bytes(), base).await {
            Ok(Stamped::At(written)) => Ok(Some(record.written_at(written))),
            Ok(Stamped::Created) | Err(Fault::Refused(Refusal::BadVersion | Refusal::NodeExists)) => Ok(None),
            Ok(Stamped::Unguarded(index)) => Err(Obstacle::Lost(index, LossReason::NodeDeleted)),
            Err(Fault::NoNode) => {
                ops.prepare(self.path.parent()).await?;
                Ok(None)
            }
            Err(fault) => Err(fault.into()),
        }
    }

    /// Returns the paths of the lock's own nodes, once no downgrade is replacing one of them.
    async fn nodes(&self) -> Result<Vec<Arc<str>>, Obstacle> {
        let lost = select_all(self.tenures.iter().map(|tenure| Box::pin(tenure.lost())));
        tokio::select! {
            biased;
            nodes = Tenure::nodes(&self.tenures) => Ok(nodes),
            (reason, index, _) = lost => Err(Obstacle::Lost(index, reason)),
        }
    }
}

/// Asks the servers whether no start is possible yet at the tick, unless the client remembers it.
pub(super) async fn has_begun(
    worker: &Arc<Worker>,
    tick: &NodePath,
    period: Period,
) -> Result<bool, LockError> {
    if worker.memory().is_closed(tick, period) {
        return Ok(true);
    }
    let (asked, about) = (Instant::now(), tick.clone());
    let question = move |session: Arc<_>| async move { ask(&session, &about, period).await };
    let Some(last) = worker.ask(tick, question).await? else { return Ok(false) };
    worker.memory().note(tick, last, period, asked);
    Ok(!last.closed_for(period).is_zero())
}

/// Returns the state of the tick at the servers' present time, or `None` if nothing has started yet.
///
/// It writes a record that is no start, because the servers tell their time only by the stamp of a write.
async fn ask(session: &Session, path: &NodePath, period: Period) -> Result<Option<Tick>, Fault> {
    let mut is_overtaken = false;
    loop {
        let (Some(tick), base) = read(session, path).await? else { return Ok(None) };
        // Many clients may ask at the same time. A record that another one wrote meanwhile has the present
        // time too.
        if is_overtaken {
            return Ok(Some(tick));
        }
        let record = Record::question(tick, period);
        match session.ops().stamp(&[], path.full(), record.to_string().as_bytes(), base).await {
            Ok(Stamped::At(written)) => return Ok(Some(record.written_at(written))),
            Err(Fault::Refused(Refusal::BadVersion)) => is_overtaken = true,
            // Another client deleted the node.
            Ok(Stamped::Created | Stamped::Unguarded(_)) | Err(Fault::NoNode) => {}
            Err(fault) => return Err(fault),
        }
    }
}

/// Returns the claim of the last start, if there was one.
pub(super) async fn last_start(session: &Session, path: &NodePath) -> Result<Option<Uuid>, Fault> {
    let (tick, _) = read(session, path).await?;
    Ok(tick.map(|tick| tick.last_claim()))
}

async fn read(session: &Session, path: &NodePath) -> Result<(Option<Tick>, Base), Fault> {
    let refused = |reason: &str| Fault::Refused(Refusal::Other(reason.into()));
    match session.ops().read(path.full()).await? {
        // Servers delete ephemeral nodes, and empty containers that had children. They do not tell whether a
        // node is a container, so every node that ever had children is refused.
        Some(read) if read.owner != 0 || read.child_changes != 0 => {
            Err(refused("a tick must be persistent, and never have had children"))
        }
        Some(read) => match Tick::read(&read.data, read.written_ms) {
            Ok(tick) => Ok((tick, Base::Version(read.version))),
            Err(Foreign) => Err(refused("its data is not that of a tick")),
        },
        None => Ok((None, Base::Missing)),
    }
}

/// The pause after an attempt whose outcome is unknown.
const PAUSE: Duration = Duration::from_millis(20);
