//! The part of one holder in a lease, and its right to send guarded writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::select_all;

use crate::error::{LockError, LossReason};
use crate::events::{HoldEnd, Holding};
use crate::session::request_error::RequestError;
use crate::session::requests::Guards;
use crate::token::FencingToken;

use super::holders::Holder;
use super::state::Lease;

/// One holder's share of a lease, under which it may write until the share ends.
pub(crate) struct Share {
    lease: Arc<Lease>,
    /// The number of holders before this one.
    handoff: u32,
    is_over: AtomicBool,
    /// Whether other readers still had the lock when the share ended.
    is_shared: AtomicBool,
}

impl Share {
    /// Returns the share of a holder that comes after this many others.
    pub(crate) fn new(lease: &Arc<Lease>, handoff: u32) -> Self {
        lease.shares.fetch_add(1, Ordering::SeqCst);
        let (lease, is_over, is_shared) = (lease.clone(), AtomicBool::new(false), AtomicBool::new(false));
        Self { lease, handoff, is_over, is_shared }
    }

    pub(crate) fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    pub(crate) fn token(&self) -> FencingToken {
        self.lease.token().with_handoffs(self.handoff)
    }

    /// Fails if the lease is lost, or the holder has given it back.
    pub(crate) fn check(&self) -> Result<(), LockError> {
        if self.is_over.load(Ordering::SeqCst) {
            return Err(self.lease.lost_error(LossReason::Resigned));
        }
        self.lease.check()
    }

    /// Reports the end of this hold to the event listeners from now on.
    pub(crate) fn announce(&self, holding: Holding) {
        if let Some(lost) = self.lease.holders.enter(self.handoff, holding) {
            lost.end(HoldEnd::Lost(self.lease.loss().unwrap_or(LossReason::SessionEnded)));
        }
    }

    /// Reports that the holder lost the lock for a reason that is not one of the lease.
    pub(crate) fn forfeit(&self, reason: LossReason) {
        self.remove(|other| other.handoff == self.handoff, || HoldEnd::Lost(reason));
    }

    /// Ends the share, because the holder gives the lock back: no write under it begins any more. The listeners are told if
    /// others still have the lock.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.lease.holders.give_back(self.handoff);
        if self.lease.shares.fetch_sub(1, Ordering::SeqCst) > 1 {
            self.is_shared.store(true, Ordering::SeqCst);
            self.remove(|other| other.handoff == self.handoff, || HoldEnd::Released);
        }
    }

    /// Reports to the listeners that the holders before this one have passed the lock on to it.
    pub(crate) fn report_handoff(&self) {
        self.remove(|other| other.has_returned && other.handoff < self.handoff, || HoldEnd::PassedOn);
    }

    /// Reports the same when this holder has the lock, also of readers that came after it and have left before.
    pub(crate) fn report_arrival(&self) {
        self.remove(|other| other.has_returned, || HoldEnd::PassedOn);
    }

    /// Ends the holds of these holders, except for those that were told of a loss.
    fn remove(&self, which: impl Fn(&Holder) -> bool, end: impl Fn() -> HoldEnd) {
        self.lease.holders.remove(which).into_iter().for_each(|holding| holding.end(end()));
    }

    /// Waits until another holder has the lock, or its node is deleted, and returns the outcome.
    pub(crate) async fn released(&self) -> Result<(), LockError> {
        self.lease.holders.changed.until(|| self.outcome()).await
    }

    /// Returns the outcome of the release, or `None` while it is not known.
    pub(crate) fn outcome(&self) -> Option<Result<(), LockError>> {
        if let Err(forked) = self.lease.check_process() {
            return Some(Err(forked));
        }
        let is_passed_on = || !self.lease.holders.has(self.handoff);
        let outcome = self.lease.holders.outcome().or_else(|| is_passed_on().then_some(Ok(())));
        outcome.or_else(|| self.is_shared.load(Ordering::SeqCst).then(|| self.lease.check()))
    }

    /// Waits until another holder has the lock, or the request that releases it has been handed to the connection.
    /// Does not wait for a connection that is broken.
    pub(crate) async fn handed_over(&self) {
        // Looked at first, because a forked child takes no lock that another thread may have had.
        if self.outcome().is_some() {
            return;
        }
        tokio::select! {
            _ = self.released() => {}
            () = self.lease.own_node.until(|news| news.is_handed_over) => {}
            () = self.lease.suspended() => {}
        }
    }
}

/// The right to send one guarded write, which counts as under way in each of its leases until the permit ends.
///
/// A write that is sent under a permit checks the leases' nodes, and so tells its holder from the next client's,
/// but not from a later holder of the same nodes. Such a holder must not begin before the outcome is known.
///
/// A permit that is dropped before the write is sent leaves nothing behind. One that is dropped afterwards, without
/// a definite answer, makes all of its leases doubtful forever, whatever the cause: the connection broke, the time
/// is over while the request is still queued, or the task was aborted.
#[must_use = "a write that is sent without its permit may be applied for the next holder"]
pub(crate) struct WritePermit {
    shares: Vec<Arc<Share>>,
    /// Whether the write may have been sent, and has no definite answer.
    is_doubtful: bool,
}

impl WritePermit {
    /// Takes the permit, unless a lease is lost, or a holder has given it back.
    ///
    /// The caller takes it in the step in which it knows that it holds the leases, before it awaits or spawns.
    pub(crate) fn take(shares: &[Arc<Share>]) -> Result<Self, LockError> {
        shares.iter().for_each(|share| share.lease().begin_write());
        let permit = Self { shares: shares.to_vec(), is_doubtful: false };
        // The look comes behind the count, so that an end of the shares either is seen here, or sees the write.
        shares.iter().try_for_each(|share| share.check())?;
        Ok(permit)
    }

    fn leases(&self) -> impl Iterator<Item = &Arc<Lease>> {
        self.shares.iter().map(|share| share.lease())
    }

    /// Waits until no downgrade is replacing a node of the leases, and returns the checks of these nodes. Fails if a lease is
    /// lost meanwhile.
    ///
    /// The caller sends them before it awaits anything else. A later downgrade is then behind its request.
    pub(crate) async fn ready(&self) -> Result<Guards, LockError> {
        let leases: Vec<_> = self.leases().cloned().collect();
        let lost = select_all(leases.iter().map(|lease| Box::pin(lease.lost())));
        let ready = async {
            // A request that waits for a connection could be behind a downgrade.
            leases[0].session().requests().connected().await;
            Lease::nodes(&leases).await
        };
        tokio::select! {
            biased;
            nodes = ready => Ok(Guards::checking(nodes)),
            (reason, index, _) = lost => Err(leases[index].lost_error(reason)),
        }
    }

    /// Sends the one write that the permit is for, with the checks of its leases' nodes, and waits for its answer.
    ///
    /// A request that only reads is sent while the permit is kept: it would find the node of a later holder, too. Without an
    /// answer, it leaves no doubt.
    pub(crate) async fn send<T>(
        mut self,
        write: impl Future<Output = Result<T, RequestError>>,
    ) -> Result<T, RequestError> {
        self.is_doubtful = true;
        let answer = write.await;
        self.is_doubtful = !is_definite(&answer);
        answer
    }
}

/// Returns `true` if the write was applied, or will certainly not be.
fn is_definite<T>(answer: &Result<T, RequestError>) -> bool {
    match answer {
        Ok(_) | Err(RequestError::NoNode | RequestError::Denied(_) | RequestError::Refused(_)) => true,
        Err(RequestError::Unknown(_) | RequestError::SessionOver) => false,
    }
}

impl Drop for WritePermit {
    fn drop(&mut self) {
        for lease in self.leases() {
            if self.is_doubtful {
                lease.doubt_write();
            }
            lease.end_write();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::pin::pin;

    use futures_util::poll;
    use zklock_testkit::{EmbeddedServer, How};

    use super::*;
    use crate::client::{connected, proxied, soon};
    use crate::error::Refusal;
    use crate::lease::writes::Writing;
    use crate::multi::MultiGuard;

    /// Two held locks.
    struct Held {
        shares: Vec<Arc<Share>>,
        _guard: MultiGuard,
        _server: EmbeddedServer,
    }

    impl Held {
        async fn new() -> Self {
            let (server, client) = connected().await;
            let guard = client.multi(["/a", "/b"]).unwrap().lock().await.unwrap();
            let shares = guard.holds().iter().map(|hold| hold.share().clone()).collect();
            Self { shares, _guard: guard, _server: server }
        }

        fn take(&self) -> WritePermit {
            WritePermit::take(&self.shares).unwrap()
        }

        async fn ready(&self) -> WritePermit {
            let permit = self.take();
            permit.ready().await.unwrap();
            permit
        }

        fn writing(&self) -> Vec<Writing> {
            self.shares.iter().map(|share| share.lease().writing()).collect()
        }
    }

    #[tokio::test]
    async fn only_the_last_share_of_a_lease_waits_for_the_release() {
        let held = Held::new().await;
        let [shared, sole] = &held.shares[..] else { panic!("two locks are held") };
        let _other = Share::new(shared.lease(), 1);
        shared.lease().lose(LossReason::NodeDeleted);
        shared.end();
        assert!(matches!(shared.outcome(), Some(Err(LockError::Lost { .. }))));
        sole.end();
        assert!(sole.outcome().is_none());
    }

    #[tokio::test]
    async fn a_definite_answer_settles_the_write() {
        let held = Held::new().await;
        let answers = [
            Ok(()),
            Err(RequestError::NoNode),
            Err(RequestError::Denied(None)),
            Err(RequestError::Refused(Refusal::BadVersion)),
        ];
        for answer in answers {
            let permit = held.ready().await;
            assert_eq!(held.writing(), [Writing::UnderWay; 2]);
            permit.send(ready(answer)).await.ok();
            assert_eq!(held.writing(), [Writing::Idle; 2]);
        }
    }

    #[tokio::test]
    async fn an_unknown_outcome_makes_every_lease_doubtful_forever() {
        for error in [RequestError::Unknown("the connection broke".into()), RequestError::SessionOver] {
            let held = Held::new().await;
            let permit = held.ready().await;
            permit.send(ready(Err::<(), _>(error))).await.unwrap_err();
            assert_eq!(held.writing(), [Writing::Doubtful; 2]);
            held.ready().await.send(ready(Ok(()))).await.unwrap();
            assert_eq!(held.writing(), [Writing::Doubtful; 2]);
        }
    }

    #[tokio::test]
    async fn a_permit_that_is_dropped_before_its_write_is_sent_leaves_no_doubt() {
        let held = Held::new().await;
        drop(held.take());
        drop(held.ready().await);
        drop(held.ready().await.send(pending::<Result<(), _>>()));
        assert_eq!(held.writing(), [Writing::Idle; 2]);
        // A downgrade is under way.
        held.shares[1].lease().begin_replacement();
        let permit = held.take();
        {
            let waiting = permit.ready();
            let mut waiting = pin!(waiting);
            assert!(poll!(&mut waiting).is_pending());
            assert_eq!(held.writing(), [Writing::UnderWay; 2]);
        }
        drop(permit);
        assert_eq!(held.writing(), [Writing::Idle; 2]);
    }

    #[tokio::test]
    async fn a_request_that_is_dropped_before_its_answer_leaves_doubt() {
        let held = Held::new().await;
        let sent = held.ready().await.send(pending::<Result<(), _>>());
        {
            let mut sent = pin!(sent);
            assert!(poll!(&mut sent).is_pending());
            assert_eq!(held.writing(), [Writing::UnderWay; 2]);
        }
        assert_eq!(held.writing(), [Writing::Doubtful; 2]);
    }

    #[tokio::test]
    async fn a_check_that_waits_for_a_connection_names_the_node_of_a_downgrade_in_front_of_it() {
        let (_server, proxy, client) = proxied().await;
        let guard = client.rwlock("/a").unwrap().write().await.unwrap();
        let (lease, share) = (guard.holds()[0].lease(), guard.holds()[0].share().clone());
        proxy.refuse();
        proxy.cut(How::Rst);
        soon(lease.suspended()).await;
        let permit = WritePermit::take(&[share]).unwrap();
        let mut ready = pin!(permit.ready());
        assert!(poll!(&mut ready).is_pending());
        lease.begin_replacement();
        proxy.heal();
        soon(lease.session().requests().connected()).await;
        assert!(poll!(&mut ready).is_pending());
        lease.end_replacement(Some("/a/reader".into()));
        let guards = soon(ready).await.unwrap();
        assert_eq!(format!("{guards:?}"), r#"Guards(["/a/reader"])"#);
    }

    #[tokio::test]
    async fn no_permit_is_given_for_a_lost_lease_nor_gets_ready_under_one() {
        let held = Held::new().await;
        let earlier = held.take();
        held.shares[0].lease().begin_replacement();
        held.shares[1].lease().lose(LossReason::NodeDeleted);
        let taken = WritePermit::take(&held.shares).err().unwrap();
        let waited = earlier.ready().await.unwrap_err();
        drop(earlier);
        for error in [taken, waited] {
            assert!(matches!(&error, LockError::Lost { path, .. } if path == "/b"), "{error:?}");
        }
        assert_eq!(held.writing(), [Writing::Idle; 2]);
    }
}
