//! Questions to the servers whether work may start, and whether its period has begun.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use tokio::time::sleep;
use uuid::Uuid;

use crate::error::{LockError, LossReason, Refusal};
use crate::lease::Tenure;
use crate::path::NodePath;
use crate::session::Session;
use crate::session::fault::Fault;
use crate::session::ops::{Base, Stamped};
use crate::tick::{Foreign, Period, Record, Tick};

/// One question whether work may start.
pub(super) struct Attempt<C> {
    tenures: Vec<Arc<Tenure>>,
    path: NodePath,
    period: Period,
    /// Fails where the work may not go on.
    check: C,
    /// By which a record is known again whose reply was lost.
    claim: Uuid,
}

/// Why there is no answer.
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

    /// Asks until there is an answer; the caller sets a bound.
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

    /// Writes a record on the ground of what the node says; `None` where it has to be read again.
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

    /// The lock's own nodes, of which none is about to be replaced.
    async fn nodes(&self) -> Result<Vec<Arc<str>>, Obstacle> {
        let lost = select_all(self.tenures.iter().map(|tenure| Box::pin(tenure.lost())));
        tokio::select! {
            biased;
            nodes = Tenure::nodes(&self.tenures) => Ok(nodes),
            (reason, index, _) = lost => Err(Obstacle::Lost(index, reason)),
        }
    }
}

/// What the node says at the time at which it is asked, which starts nothing; `None` where nothing started yet.
pub(super) async fn ask(session: &Session, path: &NodePath, period: Period) -> Result<Option<Tick>, Fault> {
    let mut is_overtaken = false;
    loop {
        let (Some(tick), base) = read(session, path).await? else { return Ok(None) };
        // Many may ask at a time; what another one wrote meanwhile tells the time as well.
        if is_overtaken {
            return Ok(Some(tick));
        }
        let record = Record::question(tick, period);
        match session.ops().stamp(&[], path.full(), record.to_string().as_bytes(), base).await {
            Ok(Stamped::At(written)) => return Ok(Some(record.written_at(written))),
            Err(Fault::Refused(Refusal::BadVersion)) => is_overtaken = true,
            // Somebody else deleted it.
            Ok(Stamped::Created | Stamped::Unguarded(_)) | Err(Fault::NoNode) => {}
            Err(fault) => return Err(fault),
        }
    }
}

/// By which claim the last start was made, if there was one.
pub(super) async fn last_start(session: &Session, path: &NodePath) -> Result<Option<Uuid>, Fault> {
    let (tick, _) = read(session, path).await?;
    Ok(tick.map(|tick| tick.last_claim()))
}

async fn read(session: &Session, path: &NodePath) -> Result<(Option<Tick>, Base), Fault> {
    let refused = |reason: &str| Fault::Refused(Refusal::Other(reason.into()));
    match session.ops().read(path.full()).await? {
        // Servers delete what is ephemeral, and containers that had children, but do not say which nodes those are.
        Some(read) if read.owner != 0 || read.child_changes != 0 => {
            Err(refused("a tick is persistent, and never had children"))
        }
        Some(read) => match Tick::read(&read.data, read.written_ms) {
            Ok(tick) => Ok((tick, Base::Version(read.version))),
            Err(Foreign) => Err(refused("its data is that of something else")),
        },
        None => Ok((None, Base::Missing)),
    }
}

/// Between attempts whose outcome is unknown.
const PAUSE: Duration = Duration::from_millis(20);
