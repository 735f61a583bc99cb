//! Watches over the nodes of all locks that a session holds, in one task.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, sleep_until};

use crate::error::LossReason;
use crate::queue::contender::Name;

use super::charge::Charge;
use super::fault::Fault;
use super::ward::{Key, Roster, Ward};
use super::{Health, Link, Session};

impl Session {
    /// Returns the key of the next lock.
    pub(crate) fn next_key(&self) -> Key {
        self.ward.next_key()
    }

    /// Watches over a held lock until it is dismissed. Loses it at once if the session is over.
    pub(crate) fn enroll(&self, key: Key, charge: Arc<dyn Charge>) {
        let mut roster = self.ward.roster();
        if roster.is_closed() {
            drop(roster);
            return charge.lose(LossReason::SessionEnded);
        }
        let mut news = roster.enroll(key, Arc::downgrade(&charge), Instant::now());
        let is_current = self.link().is_on(charge.connection());
        if !is_current {
            news = roster.hasten(key);
        }
        drop(roster);
        self.ward.change(|_| news);
    }

    /// Watches over a lock no longer.
    pub(crate) fn dismiss(&self, key: Key) {
        self.ward.roster().dismiss(key);
    }

    /// Begins to watch the node of a lock without delay, because others rely on it.
    pub(crate) fn hasten(&self, key: Key) {
        self.ward.change(|roster| roster.hasten(key));
    }

    /// Begins to watch the node of a lock that has replaced another one, or was not replaced.
    pub(crate) fn renew(&self, key: Key) {
        self.ward.change(|roster| roster.renew(key));
    }
}

/// Watches over the held locks until the session is over.
pub(crate) fn keep(session: Arc<Session>) -> impl Future<Output = ()> + Send {
    // Made here rather than in the future, which may be dropped before its first poll.
    let warden = Warden(session);
    async move {
        let mut watch = pin!(warden.watch());
        tokio::select! {
            biased;
            () = warden.0.over() => {}
            never = &mut watch => match never {},
            never = warden.lapse() => match never {},
            never = warden.follow() => match never {},
            never = warden.check_lists() => match never {},
        }
        warden.bereave().lose_all().await;
        // The guards delete the nodes now, which fires the watches. Dropping a watch earlier would cost a request.
        tokio::select! {
            biased;
            () = warden.0.closed.cancelled() => {}
            never = watch => match never {},
        }
    }
}

/// A held lock, and its node at some time.
type Held = (Arc<dyn Charge>, Name);

/// The task that watches over the held locks of a session. They are lost when it ends.
struct Warden(Arc<Session>);

/// The locks of a session that is over. They are lost at the latest when this is dropped.
struct Bereaved(Vec<Arc<dyn Charge>>);

impl Warden {
    fn ward(&self) -> &Ward {
        &self.0.ward
    }

    /// Watches the nodes. Most locks are released before that begins.
    async fn watch(&self) -> Infallible {
        let mut vigils = FuturesUnordered::new();
        loop {
            let due = self.ward().roster().due(Instant::now());
            vigils.extend(due.into_iter().filter_map(|(key, charge)| {
                let vigil = charge.watch()?;
                Some(async move { (key, vigil.await) })
            }));
            let next = self.ward().roster().next_due();
            tokio::select! {
                biased;
                Some((key, end)) = vigils.next() => {
                    if let Some((node, loss)) = end {
                        self.note(key, &node, loss);
                    }
                }
                () = self.ward().until(|roster| roster.is_due_before(next)) => {}
                () = until(next) => {}
            }
        }
    }

    /// Takes note that a node is lost, if the lock still has it.
    fn note(&self, key: Key, node: &Name, loss: LossReason) {
        let charge = self.ward().roster().charge(key);
        if let Some(charge) = charge.filter(|charge| charge.node().as_ref() == Some(node)) {
            charge.lose(loss);
        }
    }

    /// Ends the leases when the lease clock has run out.
    async fn lapse(&self) -> Infallible {
        loop {
            self.ward().until(Roster::has_any).await;
            let remaining = self.0.clock().remaining();
            if !remaining.is_zero() {
                // The timer stands still while the machine is suspended, and the lease clock does not.
                sleep(remaining.min(LOOK)).await;
                continue;
            }
            let charges = self.ward().roster().charges();
            for some in charges.chunks(AT_A_TIME) {
                // A late answer renews the leases that nobody has missed.
                if !self.0.clock().remaining().is_zero() {
                    break;
                }
                some.iter().for_each(|charge| charge.lose(LossReason::LeaseExpired));
                yield_now().await;
            }
        }
    }

    /// Looks whether the server lists the nodes of the held locks, once on each later connection: a server that was started
    /// again may have forgotten some (ZOOKEEPER-4846).
    async fn check_lists(&self) -> Infallible {
        let mut links = self.0.links();
        let mut checked = self.0.link().connection;
        loop {
            let is_next = |link: &Link| link.health == Health::Connected && link.connection != checked;
            let Ok(link) = links.wait_for(is_next).await.map(|link| *link) else { return pending().await };
            checked = link.connection;
            for (queue, charges) in self.by_queue() {
                if self.0.link() != link {
                    break;
                }
                self.check_list(&queue, charges).await;
            }
        }
    }

    /// Returns the held locks with their present nodes, by their queues.
    fn by_queue(&self) -> HashMap<String, Vec<Held>> {
        let mut queues = HashMap::<_, Vec<_>>::new();
        for charge in self.ward().roster().charges() {
            let Some(node) = charge.node() else { continue };
            if let Some((queue, _)) = charge.path(&node).rsplit_once('/') {
                queues.entry(queue.to_owned()).or_default().push((charge, node));
            }
        }
        queues
    }

    /// Ends the leases of nodes that a later list of their queue lacks.
    async fn check_list(&self, queue: &str, held: Vec<Held>) {
        let permit = self.0.bounds().requests(1).await;
        let names: HashSet<String> = match self.0.ops().names(queue).await {
            Ok(names) => names.into_iter().collect(),
            // Servers delete queues in which they list no node.
            Err(Fault::NoNode) => HashSet::new(),
            Err(_) => return,
        };
        drop(permit);
        for (charge, node) in held {
            // A node that is gone altogether is noticed by its watch.
            let is_unlisted = !names.contains(&node.to_string())
                && matches!(self.0.is_unlisted(&charge.path(&node)).await, Ok(true));
            if is_unlisted && charge.node().as_ref() == Some(&node) {
                charge.lose(LossReason::NodeDeleted);
            }
        }
    }

    /// Watches over no lock any more.
    fn bereave(&self) -> Bereaved {
        Bereaved(self.ward().roster().close())
    }

    /// Tells the leases of the health of the connection. Their watches look at their nodes on each connection.
    async fn follow(&self) -> Infallible {
        let mut links = self.0.links();
        loop {
            links.mark_unchanged();
            self.ward().change(Roster::hasten_all);
            let charges = self.ward().roster().charges();
            // The connection may have changed since.
            each(&charges, |charge| charge.note_health(self.0.link())).await;
            drop(charges);
            if links.changed().await.is_err() {
                pending::<()>().await;
            }
        }
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        drop(self.bereave());
    }
}

impl Bereaved {
    async fn lose_all(mut self) {
        while !self.0.is_empty() {
            let some = self.0.len().saturating_sub(AT_A_TIME);
            self.lose_from(some);
            yield_now().await;
        }
    }

    fn lose_from(&mut self, first: usize) {
        self.0.drain(first..).for_each(|charge| charge.lose(LossReason::SessionEnded));
    }
}

impl Drop for Bereaved {
    fn drop(&mut self) {
        self.lose_from(0);
    }
}

/// Does something for each of many locks, and lets other tasks run meanwhile.
async fn each(charges: &[Arc<dyn Charge>], action: impl Fn(&dyn Charge)) {
    for some in charges.chunks(AT_A_TIME) {
        some.iter().for_each(|charge| action(&**charge));
        yield_now().await;
    }
}

/// The most leases that are looked at without a pause for other tasks.
const AT_A_TIME: usize = 256;
/// The longest time after which the lease clock is looked at again.
const LOOK: Duration = Duration::from_secs(1);

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_util::future::FutureExt;

    use super::*;
    use crate::session::charge::Vigil;
    use crate::session::clock::Ack;

    const LOCKS: usize = 3 * AT_A_TIME;

    /// The locks that were lost.
    #[derive(Default)]
    struct Lost(Mutex<Vec<LossReason>>);

    impl Lost {
        fn count(&self) -> usize {
            self.0.lock().unwrap().len()
        }
    }

    struct Lock<A> {
        lost: Arc<Lost>,
        at_loss: A,
    }

    impl<A: Fn() + Send + Sync> Charge for Lock<A> {
        fn node(&self) -> Option<Name> {
            None
        }

        fn path(&self, node: &Name) -> String {
            node.to_string()
        }

        fn connection(&self) -> u64 {
            1
        }

        fn watch(self: Arc<Self>) -> Option<Vigil> {
            None
        }

        fn note_health(&self, _: Link) {}

        fn lose(&self, reason: LossReason) {
            self.lost.0.lock().unwrap().push(reason);
            (self.at_loss)();
        }
    }

    /// Enrolls many locks, each of which does something when it is lost.
    fn enroll<A: Fn() + Send + Sync + Clone + 'static>(
        session: &Session,
        at_loss: A,
    ) -> (Arc<Lost>, Vec<Arc<Lock<A>>>) {
        let lost = Arc::new(Lost::default());
        let locks: Vec<_> =
            (0..LOCKS).map(|_| Arc::new(Lock { lost: lost.clone(), at_loss: at_loss.clone() })).collect();
        locks.iter().for_each(|lock| session.enroll(session.next_key(), lock.clone()));
        (lost, locks)
    }

    #[tokio::test]
    async fn an_answer_that_comes_while_leases_end_keeps_the_others() {
        let session = Session::staged_without_lease(1);
        let renew = {
            let session = session.clone();
            move || session.clock().answered(Ack::Write, session.clock().now(), &Ok::<(), Fault>(()))
        };
        let (lost, _locks) = enroll(&session, renew);
        let warden = Warden(session);
        let mut lapse = pin!(warden.lapse());
        for _ in 0..LOCKS / AT_A_TIME + 1 {
            assert!(lapse.as_mut().now_or_never().is_none());
        }
        assert_eq!(lost.count(), AT_A_TIME);
    }

    #[tokio::test(start_paused = true)]
    async fn leases_end_within_a_second_after_a_suspended_machine_goes_on() {
        let session = Session::staged(1);
        let (lost, _locks) = enroll(&session, || {});
        let warden = Warden(session.clone());
        let mut lapse = pin!(warden.lapse());
        assert!(lapse.as_mut().now_or_never().is_none());
        // The lease clock has gone on meanwhile, and the timers have not.
        drop(session.clock().run_out());
        tokio::time::advance(Duration::from_secs(1)).await;
        for _ in 0..LOCKS / AT_A_TIME + 1 {
            assert!(lapse.as_mut().now_or_never().is_none());
        }
        assert!(lost.count() >= LOCKS);
    }

    #[tokio::test]
    async fn all_locks_are_lost_with_the_session_even_if_the_thread_ends_meanwhile() {
        let session = Session::staged(1);
        let (lost, _locks) = enroll(&session, || {});
        session.end();
        let mut kept = Box::pin(keep(session));
        assert!(kept.as_mut().now_or_never().is_none());
        assert_eq!(lost.count(), AT_A_TIME);
        drop(kept);
        assert_eq!(lost.count(), LOCKS);
    }
}
