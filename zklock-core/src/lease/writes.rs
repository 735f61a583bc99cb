//! Guarded writes under a lease, and why the next holder of the same node waits for them.
//!
//! A guarded write checks that the nodes of its leases exist. So it tells its holder from another client's, but not from a
//! later holder of the same node. Therefore:
//!
//! 1. A write counts in each of its leases from before it is sent until its outcome is known.
//! 2. The lock is not passed on while a write counts.
//! 3. A write without a definite answer may be applied as long as the node exists. The lock is never passed on after it, and
//!    the node is deleted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::select_all;

use crate::change::Signal;
use crate::error::LockError;
use crate::interleaving;
use crate::session::fault::Fault;
use crate::session::ops::Guards;

use super::{Lease, Share};

/// The number of guarded writes of one lease whose outcomes are not known, and [`DOUBT`].
#[derive(Debug, Default)]
pub(super) struct Tally(AtomicU32);

/// The guarded writes of one lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writes<'a> {
    tally: &'a Tally,
    /// Told when no write is under way any more, or the outcome of one will never be known.
    changed: &'a Signal,
}

/// The answer to the question whether a later holder of the same node could see a write of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    /// Every write has been applied, or will never be.
    Idle,
    /// The outcome of at least one write is not known yet.
    UnderWay,
    /// A write of unknown outcome may be applied as long as the node exists. This never ends.
    Doubtful,
}

impl<'a> Writes<'a> {
    pub(super) fn new(tally: &'a Tally, changed: &'a Signal) -> Self {
        Self { tally, changed }
    }

    /// Returns the present state, and changes nothing.
    pub(crate) fn state(&self) -> Writing {
        match self.tally.0.load(Ordering::SeqCst) {
            0 => Writing::Idle,
            tally if tally & DOUBT != 0 => Writing::Doubtful,
            _ => Writing::UnderWay,
        }
    }

    /// Waits until no write is under way, or one is doubtful. Returns `Idle` or `Doubtful`.
    pub(crate) async fn drained(self) -> Writing {
        let is_drained = |state: &Writing| !matches!(state, Writing::UnderWay);
        self.changed.until(|| Some(self.state()).filter(is_drained)).await
    }

    /// Counts a write, which ends with [`settle`](Self::settle) or [`doubt`](Self::doubt).
    pub(super) fn begin(&self) {
        self.tally.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends a write that has been applied, or will never be.
    pub(super) fn settle(&self) {
        let before = self.tally.0.fetch_sub(1, Ordering::SeqCst);
        if before & !DOUBT == 1 {
            self.changed.notify();
        }
    }

    /// Ends a write of unknown outcome.
    pub(super) fn doubt(&self) {
        // Before the write stops to count, so that no look in between finds the lease idle.
        self.tally.0.fetch_or(DOUBT, Ordering::SeqCst);
        interleaving::point();
        self.tally.0.fetch_sub(1, Ordering::SeqCst);
        self.changed.notify();
    }
}

/// The bit that tells that the outcome of a write will never be known. The other bits are a number.
const DOUBT: u32 = 1 << 31;

/// The right to send one guarded write, which counts as under way in each of its leases until the permit ends.
///
/// A write that is sent under a permit checks the leases' nodes, and so tells its holder from the next client's,
/// but not from a later holder of the same nodes. Such a holder must not begin before the outcome is known.
///
/// A permit that is dropped before the write is sent leaves nothing behind. One that is dropped afterwards, without
/// a definite answer, makes all of its leases doubtful forever, whatever the cause: the connection broke, the time
/// is over while the request is still queued, or the task was aborted.
#[derive(Debug)]
#[must_use = "a write that is sent without its permit may be applied for the next holder"]
pub(crate) struct WritePermit {
    shares: Vec<Arc<Share>>,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The write was not sent, or has a definite answer.
    Settled,
    /// The write may have been sent, and has no definite answer.
    Sent,
}

/// A permit whose write can be sent now: none of its leases' nodes is being replaced.
#[derive(Debug)]
#[must_use = "the write is not sent yet"]
pub(crate) struct ReadyPermit {
    permit: WritePermit,
    guards: Guards,
}

impl WritePermit {
    /// Takes the permit, unless a lease is lost, or a holder has given it back.
    ///
    /// The caller takes it in the step in which it knows that it holds the leases, before it awaits or spawns.
    pub(crate) fn take(shares: &[Arc<Share>]) -> Result<Self, LockError> {
        shares.iter().for_each(|share| share.lease().writes().begin());
        interleaving::point();
        let permit = Self { shares: shares.to_vec(), progress: Progress::Settled };
        // The look comes behind the count, so that an end of the shares either is seen here, or sees the write.
        shares.iter().try_for_each(|share| share.check())?;
        Ok(permit)
    }

    pub(crate) fn shares(&self) -> &[Arc<Share>] {
        &self.shares
    }

    fn leases(&self) -> impl Iterator<Item = &Arc<Lease>> {
        self.shares.iter().map(|share| share.lease())
    }

    /// Waits until no downgrade is replacing a node of the leases. Fails if one of them is lost meanwhile.
    ///
    /// The caller sends the write before it awaits anything else. A later downgrade is then behind the write.
    pub(crate) async fn ready(self) -> Result<ReadyPermit, LockError> {
        let leases: Vec<_> = self.leases().cloned().collect();
        let lost = select_all(leases.iter().map(|lease| Box::pin(lease.lost())));
        let nodes = tokio::select! {
            biased;
            nodes = Lease::nodes(&leases) => nodes,
            (reason, index, _) = lost => return Err(leases[index].lost_error(reason)),
        };
        Ok(ReadyPermit { permit: self, guards: Guards::checking(nodes) })
    }
}

impl ReadyPermit {
    /// Sends the one write that the permit is for, and waits for its answer.
    pub(crate) async fn send<T, F>(self, write: impl FnOnce(Guards) -> F) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let Self { mut permit, guards } = self;
        permit.progress = Progress::Sent;
        let answer = write(guards).await;
        if is_definite(&answer) {
            permit.progress = Progress::Settled;
        }
        answer
    }

    /// Sends one request that checks the leases' nodes and changes nothing, and waits for its answer. Without one, it
    /// leaves no doubt.
    ///
    /// It needs a permit too: the check would find the node of a later holder, who must therefore not begin before
    /// the answer.
    pub(crate) async fn ask<T, F>(self, question: impl FnOnce(Guards) -> F) -> T
    where
        F: Future<Output = T>,
    {
        let Self { permit: _permit, guards } = self;
        question(guards).await
    }
}

/// Returns `true` if the write was applied, or will certainly not be.
fn is_definite<T>(answer: &Result<T, Fault>) -> bool {
    match answer {
        Ok(_) | Err(Fault::NoNode | Fault::Denied(_) | Fault::Refused(_)) => true,
        Err(Fault::Unknown(_) | Fault::SessionOver) => false,
    }
}

impl Drop for WritePermit {
    fn drop(&mut self) {
        for lease in self.leases() {
            match self.progress {
                Progress::Settled => lease.writes().settle(),
                Progress::Sent => lease.writes().doubt(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::pin::pin;
    use std::task::Poll;
    use std::time::Duration;

    use futures_util::poll;
    use tokio::time::timeout;
    use zklock_testkit::EmbeddedServer;

    use super::*;
    use crate::Config;
    use crate::error::{LossReason, Refusal};
    use crate::multi::MultiGuard;

    /// Two held locks.
    struct Held {
        shares: Vec<Arc<Share>>,
        _guard: MultiGuard,
        _server: EmbeddedServer,
    }

    impl Held {
        async fn new() -> Self {
            let server = EmbeddedServer::start().unwrap();
            let client = Config::new(server.connect_string()).connect().await.unwrap();
            let guard = client.multi(["/a", "/b"]).unwrap().lock().await.unwrap();
            let shares = guard.holds().iter().map(|hold| hold.share().clone()).collect();
            Self { shares, _guard: guard, _server: server }
        }

        fn take(&self) -> WritePermit {
            WritePermit::take(&self.shares).unwrap()
        }

        async fn ready(&self) -> ReadyPermit {
            self.take().ready().await.unwrap()
        }

        fn writing(&self) -> Vec<Writing> {
            self.shares.iter().map(|share| share.lease().writes().state()).collect()
        }
    }

    #[tokio::test]
    async fn a_definite_answer_settles_the_write() {
        let held = Held::new().await;
        let answers =
            [Ok(()), Err(Fault::NoNode), Err(Fault::Denied(None)), Err(Fault::Refused(Refusal::BadVersion))];
        for answer in answers {
            let permit = held.ready().await;
            assert_eq!(held.writing(), [Writing::UnderWay; 2]);
            permit.send(|_| ready(answer)).await.ok();
            assert_eq!(held.writing(), [Writing::Idle; 2]);
        }
    }

    #[tokio::test]
    async fn an_unknown_outcome_makes_every_lease_doubtful_forever() {
        for fault in [Fault::Unknown("the connection broke".into()), Fault::SessionOver] {
            let held = Held::new().await;
            let permit = held.ready().await;
            permit.send(|_| ready(Err::<(), _>(fault))).await.unwrap_err();
            assert_eq!(held.writing(), [Writing::Doubtful; 2]);
            held.ready().await.send(|_| ready(Ok(()))).await.unwrap();
            assert_eq!(held.writing(), [Writing::Doubtful; 2]);
        }
    }

    #[tokio::test]
    async fn a_permit_that_is_dropped_before_its_write_is_sent_leaves_no_doubt() {
        let held = Held::new().await;
        drop(held.take());
        drop(held.ready().await);
        drop(held.ready().await.send(|_| pending::<Result<(), _>>()));
        assert_eq!(held.writing(), [Writing::Idle; 2]);
        // A downgrade is under way.
        held.shares[1].lease().begin_replacement();
        let waiting = held.take().ready();
        {
            let mut waiting = pin!(waiting);
            assert!(poll!(&mut waiting).is_pending());
            assert_eq!(held.writing(), [Writing::UnderWay; 2]);
        }
        assert_eq!(held.writing(), [Writing::Idle; 2]);
    }

    #[tokio::test]
    async fn a_request_that_is_dropped_before_its_answer_leaves_doubt() {
        let held = Held::new().await;
        let sent = held.ready().await.send(|_| pending::<Result<(), _>>());
        {
            let mut sent = pin!(sent);
            assert!(poll!(&mut sent).is_pending());
            assert_eq!(held.writing(), [Writing::UnderWay; 2]);
        }
        assert_eq!(held.writing(), [Writing::Doubtful; 2]);
    }

    #[tokio::test]
    async fn a_question_is_under_way_until_its_answer_and_leaves_no_doubt_without_one() {
        let held = Held::new().await;
        let asked = held.ready().await.ask(|_| pending::<()>());
        {
            let mut asked = pin!(asked);
            assert!(poll!(&mut asked).is_pending());
            assert_eq!(held.writing(), [Writing::UnderWay; 2]);
        }
        assert_eq!(held.writing(), [Writing::Idle; 2]);
    }

    #[tokio::test]
    async fn a_request_that_takes_too_long_leaves_doubt() {
        let held = Held::new().await;
        let sent = held.ready().await.send(|_| pending::<Result<(), _>>());
        timeout(Duration::ZERO, sent).await.unwrap_err();
        assert_eq!(held.writing(), [Writing::Doubtful; 2]);
    }

    #[tokio::test]
    async fn a_write_under_one_lease_leaves_the_others_alone() {
        let held = Held::new().await;
        let _permit = WritePermit::take(&held.shares[1..]).unwrap();
        assert_eq!(held.writing(), [Writing::Idle, Writing::UnderWay]);
    }

    #[tokio::test]
    async fn no_permit_is_given_for_a_lost_lease_nor_gets_ready_under_one() {
        let held = Held::new().await;
        let earlier = held.take();
        held.shares[0].lease().begin_replacement();
        held.shares[1].lease().lose(LossReason::NodeDeleted);
        let taken = WritePermit::take(&held.shares).unwrap_err();
        let waited = earlier.ready().await.unwrap_err();
        for error in [taken, waited] {
            assert!(matches!(&error, LockError::Lost { path, .. } if path == "/b"), "{error:?}");
        }
        assert_eq!(held.writing(), [Writing::Idle; 2]);
    }

    #[test]
    fn writes_are_idle_again_when_the_last_one_is_settled() {
        let (tally, changed) = Default::default();
        let writes = Writes::new(&tally, &changed);
        assert_eq!(writes.state(), Writing::Idle);
        writes.begin();
        writes.begin();
        writes.settle();
        assert_eq!(writes.state(), Writing::UnderWay);
        writes.settle();
        assert_eq!(writes.state(), Writing::Idle);
    }

    #[test]
    fn one_doubtful_write_is_never_forgotten() {
        let (tally, changed) = Default::default();
        let writes = Writes::new(&tally, &changed);
        writes.begin();
        writes.begin();
        writes.doubt();
        assert_eq!(writes.state(), Writing::Doubtful);
        writes.settle();
        assert_eq!(writes.state(), Writing::Doubtful);
        writes.begin();
        writes.settle();
        assert_eq!(writes.state(), Writing::Doubtful);
    }

    #[tokio::test]
    async fn drained_waits_for_the_last_write() {
        let (tally, changed) = Default::default();
        let writes = Writes::new(&tally, &changed);
        assert_eq!(writes.drained().await, Writing::Idle);
        writes.begin();
        writes.begin();
        let mut drained = pin!(writes.drained());
        assert_eq!(poll!(&mut drained), Poll::Pending);
        writes.settle();
        assert_eq!(poll!(&mut drained), Poll::Pending);
        writes.settle();
        assert_eq!(poll!(&mut drained), Poll::Ready(Writing::Idle));
    }

    #[tokio::test]
    async fn drained_waits_on_if_another_write_has_begun_in_between() {
        let (tally, changed) = Default::default();
        let writes = Writes::new(&tally, &changed);
        writes.begin();
        let mut drained = pin!(writes.drained());
        assert_eq!(poll!(&mut drained), Poll::Pending);
        writes.settle();
        writes.begin();
        assert_eq!(poll!(&mut drained), Poll::Pending);
        writes.settle();
        assert_eq!(poll!(&mut drained), Poll::Ready(Writing::Idle));
    }

    #[tokio::test]
    async fn drained_does_not_wait_for_others_once_a_write_is_doubtful() {
        let (tally, changed) = Default::default();
        let writes = Writes::new(&tally, &changed);
        writes.begin();
        writes.begin();
        let mut drained = pin!(writes.drained());
        assert_eq!(poll!(&mut drained), Poll::Pending);
        writes.doubt();
        assert_eq!(poll!(&mut drained), Poll::Ready(Writing::Doubtful));
    }
}
