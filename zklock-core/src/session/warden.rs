//! Watches over the nodes of all locks that a session holds, in one task.
//!
//! * [`rollcall`] verifies many nodes at once, and asks for those that cannot be watched.

mod rollcall;

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, sleep_until};

use crate::error::LossReason;

use super::charge::{Absence, Charge};
use super::ward::{Key, Roster, Ward, Watch};
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
        let link = Link { epoch: charge.epoch(), health: Health::Connected };
        if self.link() != link {
            news = roster.doubt();
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
        tokio::select! {
            biased;
            () = warden.0.over() => {}
            never = warden.watch() => match never {},
            never = warden.lapse() => match never {},
            never = warden.follow() => match never {},
            never = warden.0.call_roll() => match never {},
        }
    }
}

/// The task that watches over the held locks of a session. They are lost when it ends.
struct Warden(Arc<Session>);

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
                    if let Some((node, absence)) = end {
                        self.note(key, &node, absence);
                    }
                }
                () = self.ward().until(|roster| roster.is_due_before(next)) => {}
                () = until(next) => {}
            }
        }
    }

    /// Takes note of the end of a watch, if the lock still has the node.
    fn note(&self, key: Key, node: &str, absence: Absence) {
        let charge = self.ward().roster().charge(key);
        let Some(charge) = charge.filter(|charge| charge.node().as_deref() == Some(node)) else { return };
        match absence {
            Absence::Gone => charge.lose(LossReason::NodeDeleted),
            Absence::NoRoom => self.ward().change(|roster| roster.note_unwatched(key, Watch::NoRoom)),
            Absence::Refused => self.ward().change(|roster| roster.note_unwatched(key, Watch::Refused)),
        }
    }

    /// Ends the leases when the lease clock has run out.
    async fn lapse(&self) -> Infallible {
        loop {
            self.ward().until(Roster::has_any).await;
            let remaining = self.0.clock().remaining();
            if !remaining.is_zero() {
                sleep(remaining).await;
                continue;
            }
            let charges = self.ward().roster().charges();
            each(&charges, |charge| charge.lose(LossReason::LeaseExpired)).await;
        }
    }

    /// Verifies the leases in every epoch of the connection, and tells them of its health.
    async fn follow(&self) -> Infallible {
        let mut links = self.0.links();
        loop {
            let link = *links.borrow_and_update();
            self.ward().roster().note_verifying();
            let charges = self.ward().roster().charges();
            // A question on a connection that has not answered yet would have to be repeated.
            if link.health == Health::Connected {
                self.0.verify_all(&charges, link.epoch).await;
            }
            // The connection may have broken since.
            each(&charges, |charge| charge.note_health(self.0.link())).await;
            drop(charges);
            tokio::select! {
                biased;
                changed = links.changed() => if changed.is_err() { pending::<()>().await },
                () = self.ward().until(|roster| roster.is_in_doubt()) => {}
            }
        }
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        let charges = self.ward().roster().close();
        charges.iter().for_each(|charge| charge.lose(LossReason::SessionEnded));
    }
}

/// Does something for each of many locks, and lets other tasks run meanwhile.
async fn each(charges: &[Arc<dyn Charge>], action: impl Fn(&dyn Charge)) {
    for some in charges.chunks(AT_A_TIME) {
        some.iter().for_each(|charge| action(&**charge));
        yield_now().await;
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

/// The most locks that are looked at without a pause for other tasks.
const AT_A_TIME: usize = 256;
