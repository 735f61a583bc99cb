//! Work that starts at most once per period, regardless of which client holds the lock or leads.
//!
//! A persistent node, the *tick*, remembers the last start. A client that is about to start writes to it, in
//! one transaction with a check of its own lock's node. The server stamps the write with the server's time. From
//! the data and that time every client can tell whether the write was a start, or came too early and changed
//! nothing ([`LastStart`]). No client's clock has a part in that. A client only remembers for how long asking
//! again cannot succeed ([`PeriodCache`](crate::last_start::PeriodCache)). Calls that wait for their lock share
//! one poller.

use std::sync::Arc;
use std::time::Duration;

use boot_time::Instant;
use futures_lite::future::or;
use uuid::Uuid;

use crate::client::Client;
use crate::client::worker::Worker;
use crate::error::{LockError, Refusal};
use crate::guarded;
use crate::held::Held;
use crate::last_start::{Answer, LastStart, NotATick, Period, Polled, Record};
use crate::path::NodePath;
use crate::session::Session;
use crate::session::request_error::RequestError;
use crate::session::requests::{Guarded, Guards, Write};
use crate::time::{sleep, timeout};

impl Held {
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
    /// * [`LockError::Refused`] if the node at `tick` is not a tick: it has other data, is ephemeral, or has or had
    ///   children, like the node of a lock. Such a node is left alone. This is also the error if the servers refuse the
    ///   request for another reason, such as a quota.
    /// * [`LockError::Denied`] if the ACLs do not let this client read, write or create the node or its parents, or
    ///   read the node of the lock.
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
        let worker = self.worker();
        let (path, period) = (NodePath::new(worker.root(), tick)?, Period::new(period)?);
        if worker.periods.is_closed(&path, period) {
            worker.tally().skips.add_one();
            return Ok(false);
        }
        let (asked, within) = (Instant::now(), worker.default_wait());
        let id = Uuid::new_v4();
        let last = worker.call(&path, within, attempt(self.clone(), path.clone(), period, id)).await?;
        note(worker, &path, last, period, asked);
        if !last.is_start_of(id) {
            worker.tally().skips.add_one();
            return Ok(false);
        }
        // The answer may have been delayed for longer than the lease.
        self.check()?;
        worker.tally().starts.add_one();
        Ok(true)
    }
}

impl Client {
    /// Forgets which periods are not over yet. A test that has set the servers' clock forward calls this.
    #[doc(hidden)]
    pub fn forget_periods(&self) {
        self.worker().periods.forget();
    }

    /// Takes a lock, whose holder then asks whether the period at `tick` begins with it. The result is `None` if the period is
    /// known to have begun, or begins during the wait: the holder's work, which may be long, is not waited for. For generated
    /// code.
    #[doc(hidden)]
    pub async fn unless_begun<G>(
        &self,
        (tick, period): (&str, Duration),
        taking: impl Future<Output = Result<G, LockError>>,
    ) -> Result<Option<G>, LockError> {
        let (worker, polled) = (self.worker(), (self.path(tick)?, Period::new(period)?));
        worker.check_process(&polled.0)?;
        let taken = async { Some(taking.await) };
        let begun = async {
            until_begun(worker, &polled).await;
            None
        };
        let is_known = worker.periods.is_closed(&polled.0, polled.1);
        match if is_known { None } else { or(taken, begun).await } {
            // The holder may have begun the period, may have died before, or may hold the lock for other work.
            Some(Err(error)) if error.is_contended() => {
                let look = async {
                    // Many waits may end at once. The first answer is that of all.
                    let _turn = worker.periods.last_look.lock().await;
                    has_begun(worker, &polled, &mut None).await
                };
                if !matches!(timeout(LAST_LOOK, look).await, Ok(Ok(true))) {
                    return Err(error);
                }
            }
            Some(held) => return held.map(Some),
            None => {}
        }
        worker.tally().skips.add_one();
        Ok(None)
    }
}

/// Waits until the servers confirm that the period has begun.
///
/// A waiter for the lock thus learns of another client's start before the lock is free. All waiters of this client share one
/// poller. The caller bounds the time: if the servers refuse the requests, the future stays pending.
async fn until_begun(worker: &Arc<Worker>, polled: &Polled) {
    let poll = |answer| worker.tasks.spawn(poll(worker.clone(), polled.clone(), answer));
    let answer = worker.periods.join(polled, poll);
    answer.cancelled().await;
}

/// Makes one attempt to begin a period, and repeats it until it has an answer. The caller bounds the time. `id` is that of its
/// record, by which it is found if the reply to its write was lost.
async fn attempt(held: Held, path: NodePath, period: Period, id: Uuid) -> Result<LastStart, LockError> {
    loop {
        match write(&held, &path, period, id).await {
            Ok(Some(last)) => return Ok(last),
            Ok(None) => {}
            Err(LockError::OutcomeUnknown { .. }) => sleep(PAUSE).await,
            Err(error) => return Err(error),
        }
    }
}

/// Reads the node and writes a record based on it. Returns `None` if the node has to be read again.
async fn write(
    held: &Held,
    path: &NodePath,
    period: Period,
    id: Uuid,
) -> Result<Option<LastStart>, LockError> {
    let shares = held.shares();
    let session = shares[0].lease().session();
    let failed = |error| guarded::failed(&shares, path, error);
    let (before, version) = match read(session, path).await.map_err(failed)? {
        (Some(last), _) if last.settles(id) => return Ok(Some(last)),
        read => read,
    };
    let record = Record::new(before, period, id);
    // One permit for each request: the attempt goes on without its caller, and the lock may have a later
    // holder by now.
    let (permit, write) = (held.permit()?, record.based_on(version));
    match held.send(permit, path, &write).await? {
        Ok(Some(written)) => Ok(Some(record.written_at(written))),
        Ok(None) | Err(RequestError::Refused(Refusal::BadVersion | Refusal::NodeExists)) => Ok(None),
        Err(RequestError::NoNode) => {
            let prepared = session.requests().prepare_parents(path.parent()).await;
            prepared.map(|()| None).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Remembers a start that was written no earlier than `asked`, and tells if it is far ahead of the servers' clock.
fn note(worker: &Worker, path: &NodePath, last: LastStart, period: Period, asked: Instant) {
    let Some(ahead) = worker.periods.note(path, last, period, asked) else { return };
    tracing::warn!(%path, ?ahead, "the last start under once_per is ahead of the servers' clock");
    if let Some(events) = worker.events() {
        events.tick_ahead(path, ahead);
    }
}

/// Asks the servers whether no start is possible yet at the tick, unless the client remembers it, or the last start is that of
/// the `known` attempt, whose period was over before.
async fn has_begun(
    worker: &Arc<Worker>,
    (tick, period): &Polled,
    known: &mut Option<Uuid>,
) -> Result<bool, LockError> {
    let (period, before) = (*period, *known);
    // Another call of this client may have learned it.
    if worker.periods.is_closed(tick, period) {
        return Ok(true);
    }
    let (asked, about) = (Instant::now(), tick.clone());
    let question = move |session: Arc<_>| async move { ask(&session, &about, period, before).await };
    let last = worker.ask(tick, question).await?;
    let Some(last) = last.filter(|last| Some(last.started_by()) != before) else { return Ok(false) };
    note(worker, tick, last, period, asked);
    *known = Some(last.started_by());
    Ok(!last.closed_for(period).is_zero())
}

/// Returns the last start as of the servers' present time, or as it was read if it is that of the `known` attempt. Returns
/// `None` if nothing has started yet.
///
/// It writes a record that is no start, because the servers tell their time only by the stamp of a write.
async fn ask(
    session: &Session,
    path: &NodePath,
    period: Period,
    known: Option<Uuid>,
) -> Result<Option<LastStart>, RequestError> {
    let mut is_overtaken = false;
    loop {
        let (Some(last), version) = read(session, path).await? else { return Ok(None) };
        // Many clients may ask at the same time. A record that another one wrote meanwhile has the present
        // time too.
        if is_overtaken || Some(last.started_by()) == known {
            return Ok(Some(last));
        }
        let record = Record::question(last, period);
        let write = record.based_on(version);
        match session.requests().guarded(Guards::none(), path.full(), &write).await {
            Ok(Guarded::Applied(Some(written))) => return Ok(Some(record.written_at(written))),
            Err(RequestError::Refused(Refusal::BadVersion)) => is_overtaken = true,
            // Another client deleted the node.
            Ok(Guarded::Applied(None) | Guarded::Unguarded(_)) | Err(RequestError::NoNode) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Looks at a tick once a second, on the client's thread, until its period has begun. Ends in its next look
/// when no call waits for that any more, or when the servers refuse the requests.
async fn poll(worker: Arc<Worker>, polled: Polled, answer: Answer) {
    let mut known = None;
    let pause = || worker.closing.run_until_cancelled(sleep(LOOK_EVERY));
    while pause().await.is_some() && answer.strong_count() > 0 {
        match has_begun(&worker, &polled, &mut known).await {
            Ok(true) => {
                if let Some(answer) = answer.upgrade() {
                    answer.cancel();
                }
                break;
            }
            Ok(false) | Err(LockError::Timeout { .. } | LockError::OutcomeUnknown { .. }) => {}
            Err(_) => break,
        }
    }
    worker.periods.leave(&polled, &answer);
}

impl Record {
    /// Returns the write of this record over data of this version, or to a node that is missing.
    fn based_on(&self, version: Option<i32>) -> Write {
        let data = self.to_string().into_bytes();
        match version {
            Some(version) => Write::Replace { version, data },
            None => Write::Create(data),
        }
    }
}

/// Reads the last start, and the version of the node's data.
async fn read(session: &Session, path: &NodePath) -> Result<(Option<LastStart>, Option<i32>), RequestError> {
    let refused = |reason: &str| RequestError::Refused(Refusal::Other(reason.into()));
    match session.requests().read(path.full()).await? {
        // Servers delete ephemeral nodes, and empty containers that had children. They do not tell whether a
        // node is a container, so every node that ever had children is refused.
        Some(read) if read.stat.ephemeral_owner != 0 || read.stat.cversion != 0 => {
            Err(refused("a tick must be persistent, and never have had children"))
        }
        Some(read) => match LastStart::read(&read.data, read.stat.mtime) {
            Ok(last) => Ok((last, Some(read.stat.version))),
            Err(NotATick) => Err(refused("its data is not that of a tick")),
        },
        None => Ok((None, None)),
    }
}

/// The pause after an attempt whose outcome is unknown.
const PAUSE: Duration = Duration::from_millis(20);
/// The bound on the look of a call whose wait is over. The tests of this file do not depend on the speed of the machine.
const LAST_LOOK: Duration = Duration::from_secs(if cfg!(test) { 30 } else { 1 });
/// The pause between two looks of a poller.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::future::ready;

    use futures_util::future::join_all;
    use zklock_testkit::wire::Opcode;
    use zklock_testkit::{EmbeddedServer, How, Proxy};

    use super::*;
    use crate::client::{proxy, soon};
    use crate::error::Phase;
    use crate::lease::Lease;
    use crate::lease::writes::Writing;
    use crate::{Client, Config, Heartbeat, MutexGuard};

    const PERIOD: Duration = Duration::from_secs(3600);

    /// A client whose only transactions are its stamps.
    async fn proxied() -> (EmbeddedServer, Proxy, Client) {
        let (server, proxy) = proxy();
        let config = Config::new(proxy.connect_string()).heartbeat(Heartbeat::Read);
        let client = config.connect().await.unwrap();
        (server, proxy, client)
    }

    fn lease(guard: &MutexGuard) -> &Lease {
        guard.holds()[0].lease()
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
            assert_eq!(lease(&guard).writing(), Writing::UnderWay, "stamp {nth}");
            held.release();
            assert!(soon(start).await.unwrap());
            assert_eq!(lease(&guard).writing(), Writing::Idle, "stamp {nth}");
        }
    }

    #[tokio::test]
    async fn calls_whose_waits_end_together_share_one_look() {
        let (_server, proxy, client) = proxied().await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        assert!(guard.once_per("/tick", PERIOD).await.unwrap());
        client.forget_periods();
        let looks = proxy.requests(Opcode::GET_DATA);
        let calls = (0..50).map(async |_| {
            let (path, waited) = ("/a".to_owned(), Duration::ZERO);
            let late = LockError::Timeout { path, waited, phase: Phase::Queued, holder: None };
            client.unless_begun(("/tick", PERIOD), ready(Err::<(), _>(late))).await
        });
        let calls = soon(join_all(calls)).await;
        assert!(calls.into_iter().all(|call| call.unwrap().is_none()), "the period has begun");
        assert_eq!(proxy.requests(Opcode::GET_DATA) - looks, 1);
    }

    #[tokio::test]
    async fn a_stamp_of_unknown_outcome_leaves_doubt_although_the_attempt_finds_its_answer() {
        let (_server, proxy, client) = proxied().await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let cut = proxy.on_reply(Opcode::MULTI).cut(How::Rst);
        assert!(soon(guard.once_per("/tick", PERIOD)).await.unwrap());
        assert_eq!((lease(&guard).writing(), cut.hits()), (Writing::Doubtful, 1));
    }
}
