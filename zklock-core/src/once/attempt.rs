//! Asks the servers whether work may start, and whether its period has begun.

use std::sync::Arc;
use std::time::Duration;

use boot_time::Instant;
use tokio::time::sleep;
use uuid::Uuid;

use crate::client::worker::Worker;
use crate::error::{LockError, LossReason, Refusal};
use crate::lease::{Share, WritePermit};
use crate::path::NodePath;
use crate::session::Session;
use crate::session::fault::Fault;
use crate::session::ops::{Base, Guards, Stamped};
use crate::tick::{Foreign, Period, Record, Tick};

/// One attempt to begin a period.
pub(super) struct Attempt<C> {
    shares: Vec<Arc<Share>>,
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
    /// The lock is lost, or the check failed.
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

impl From<LockError> for Obstacle {
    fn from(over: LockError) -> Self {
        Self::Over(over)
    }
}

impl<C: Fn() -> Result<(), LockError>> Attempt<C> {
    pub(super) fn new(shares: Vec<Arc<Share>>, path: NodePath, period: Period, check: C) -> Self {
        Self { shares, path, period, check, claim: Uuid::new_v4() }
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
        let session = self.shares[0].tenure().session();
        let (before, base) = match read(session, &self.path).await? {
            (Some(tick), _) if tick.settles(self.claim) => return Ok(Some(tick)),
            read => read,
        };
        let record = Record::new(before, self.period, self.claim);
        // One permit for each request: the attempt goes on without its caller, and the lock may have a later
        // holder by now.
        let permit = WritePermit::take(&self.shares)?.ready().await?;
        (self.check)()?;
        let (ops, data) = (session.ops(), record.to_string());
        match permit.send(|guards| ops.stamp(guards, self.path.full(), data.as_bytes(), base)).await {
            Ok(Stamped::At(written)) => Ok(Some(record.written_at(written))),
            Ok(Stamped::Created) | Err(Fault::Refused(Refusal::BadVersion | Refusal::NodeExists)) => Ok(None),
            Ok(Stamped::Unguarded(index)) => Err(Obstacle::Lost(index, LossReason::NodeDeleted)),
            Err(Fault::NoNode) => {
                ops.prepare_parents(self.path.parent()).await?;
                Ok(None)
            }
            Err(fault) => Err(fault.into()),
        }
    }
}

/// Remembers a tick that was written no earlier than `asked`, and tells if it is far ahead of the servers' clock.
pub(super) fn note(worker: &Worker, path: &NodePath, tick: Tick, period: Period, asked: Instant) {
    let Some(ahead) = worker.memory().note(path, tick, period, asked) else { return };
    tracing::warn!(%path, ?ahead, "the last start under once_per is ahead of the servers' clock");
    if let Some(hub) = worker.hub() {
        hub.tick_ahead(path, ahead);
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
    note(worker, tick, last, period, asked);
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
        match session.ops().stamp(Guards::none(), path.full(), record.to_string().as_bytes(), base).await {
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

#[cfg(test)]
mod tests {
    use futures_util::poll;
    use tokio::time::timeout;
    use zklock_testkit::wire::Opcode;
    use zklock_testkit::{EmbeddedServer, How, Proxy};

    use super::*;
    use crate::lease::Tenure;
    use crate::lease::writes::Writing;
    use crate::{Client, Config, Heartbeat, MutexGuard};

    const PERIOD: Duration = Duration::from_secs(3600);

    /// A client whose only transactions are its stamps.
    async fn proxied() -> (EmbeddedServer, Proxy, Client) {
        let server = EmbeddedServer::start().unwrap();
        let proxy = Proxy::start(server.address()).unwrap();
        let config = Config::new(proxy.connect_string()).heartbeat(Heartbeat::Read);
        let client = config.connect().await.unwrap();
        (server, proxy, client)
    }

    async fn soon<T>(future: impl Future<Output = T>) -> T {
        timeout(Duration::from_secs(20), future).await.expect("it happens within 20 s")
    }

    fn tenure(guard: &MutexGuard) -> &Tenure {
        guard.holds()[0].tenure()
    }

    #[tokio::test]
    async fn each_stamp_of_an_attempt_is_under_way_until_it_is_answered() {
        let (_server, proxy, client) = proxied().await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        // The first one finds no parent, and the second one creates the node.
        for nth in 1..=2 {
            let held = proxy.on_reply(Opcode::MULTI).nth(nth).hold();
            let tick = format!("/tick/of/{nth}/own");
            let mut start = Box::pin(guard.once_per(&tick, PERIOD));
            tokio::select! {
                biased;
                answer = &mut start => panic!("answered without stamp {nth}: {answer:?}"),
                () = soon(held.struck()) => {}
            }
            assert_eq!(tenure(&guard).writes().state(), Writing::UnderWay, "stamp {nth}");
            held.release();
            assert!(soon(start).await.unwrap());
            assert_eq!(tenure(&guard).writes().state(), Writing::Idle, "stamp {nth}");
        }
    }

    #[tokio::test]
    async fn a_stamp_whose_caller_has_gone_is_under_way_until_it_is_answered() {
        let (_server, proxy, client) = proxied().await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let held = proxy.on_reply(Opcode::MULTI).hold();
        let mut start = Box::pin(guard.once_per("/tick", PERIOD));
        assert!(poll!(&mut start).is_pending());
        drop(start);
        soon(held.struck()).await;
        assert_eq!(tenure(&guard).writes().state(), Writing::UnderWay);
        held.release();
        assert_eq!(soon(tenure(&guard).writes().drained()).await, Writing::Idle);
    }

    #[tokio::test]
    async fn a_stamp_of_unknown_outcome_leaves_doubt_although_the_attempt_finds_its_answer() {
        let (_server, proxy, client) = proxied().await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let cut = proxy.on_reply(Opcode::MULTI).cut(How::Rst);
        assert!(soon(guard.once_per("/tick", PERIOD)).await.unwrap());
        assert_eq!((tenure(&guard).writes().state(), cut.hits()), (Writing::Doubtful, 1));
    }
}
