//! The view of a holder on its lock or term: its state, its token and its end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, select_all};

use crate::client::worker::Worker;
use crate::error::{LockError, LossReason};
use crate::hold::{self, Hold, Part, Parts};
use crate::lease::{LeaseState, Share, WritePermit};
use crate::token::FencingToken;

/// A lock or a term of leadership that a holder has. Cheap to clone.
///
/// Guards and terms dereference to it, and [`current`] returns that of the innermost lock or term around a call. A
/// clone does not keep the lock. Once its holder has given the lock back, or has downgraded it,
/// [`is_held`](Self::is_held) is `false`, and writes and reads fail. That is so even if another entry of the same call
/// still holds the lock.
#[derive(Clone)]
pub struct Held {
    parts: Parts,
    worker: Arc<Worker>,
}

/// Returns the innermost lock or term of leadership that the current call holds, or `None` if it holds none.
///
/// A call holds a lock inside of an annotated function, [`Guard::run`](crate::Guard::run),
/// [`Guard::scope`](crate::Guard::scope) and their siblings, and a term inside of
/// [`Leadership::run`](crate::Leadership::run) and its siblings, such as the callback of a selector. A task that
/// `zklock::spawn` has started finds it until the holder gives the lock back, or the body under the term ends. A lock
/// that is lost is returned as well, so that the body can learn of the loss.
///
/// # Examples
///
/// ```
/// assert!(zklock_core::current().is_none());
/// ```
///
/// ```no_run
/// async fn pay(order: u64) -> Result<(), zklock_core::LockError> {
///     let lock = zklock_core::current().expect("the caller holds the lock of the order");
///     lock.upsert(&format!("/ledgers/{order}"), "paid").await
/// }
///
/// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
/// client.mutex("/orders/7")?.run(async |_| pay(7).await).await?
/// # }
/// ```
pub fn current() -> Option<Held> {
    held().into_iter().next()
}

/// Returns all locks and terms that the current call holds, from the innermost to the outermost, for assertions.
#[doc(hidden)]
pub fn held() -> Vec<Held> {
    hold::held().into_iter().filter_map(Held::new).collect()
}

impl Held {
    /// Returns `None` if what is held was given back.
    fn new(parts: Parts) -> Option<Self> {
        let worker = parts[0].worker()?;
        Some(Self { parts, worker })
    }

    /// Returns what these holds have, of which there is at least one.
    pub(crate) fn of_holds(holds: &[Hold]) -> Self {
        Self::new(hold::parts(holds)).expect("a hold has not ended")
    }

    pub(crate) fn of_term(term: Arc<dyn Part>) -> Self {
        Self::new([term].into()).expect("a term keeps its worker")
    }

    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }

    pub(crate) fn shares(&self) -> Vec<Arc<Share>> {
        self.parts.iter().map(|part| part.share().clone()).collect()
    }

    /// Returns the path of the lock or election below the client's namespace.
    ///
    /// Of several locks that were taken as one, it is the first one in the order of acquisition.
    pub fn path(&self) -> &str {
        self.paths().next().unwrap_or_default()
    }

    /// Returns the paths of all locks that were taken as one, in the order of acquisition.
    ///
    /// The path of a semaphore is there once for each permit.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.share().lease().path().relative())
    }

    /// Returns the number by which a resource can tell this holder from earlier ones.
    ///
    /// It is that of the lock at [`path`](Self::path), and for several permits the smallest of theirs. All entries of one
    /// logical call share the token, and a downgrade keeps it. That of a term is its epoch, which is greater than that of
    /// every earlier term of any candidate. A semaphore has several holders at the same time: their tokens distinguish them,
    /// but do not show which of them is outdated.
    pub fn fencing_token(&self) -> FencingToken {
        let shares = self.shares();
        let same = shares.iter().filter(|share| share.lease().path().relative() == self.path());
        same.map(|share| share.token()).fold(shares[0].token(), FencingToken::min)
    }

    /// Returns `true` if the lock is held, or the term lasts, at this instant, by the lease clock and without a
    /// request.
    ///
    /// The answer can be outdated by the time it is used, because a process can be paused at any point. While the
    /// connection is broken, it is `false` for a lock, see [`state`](Self::state), and for a term it depends on the
    /// [`Policy`](crate::Policy).
    pub fn is_held(&self) -> bool {
        self.check().is_ok() && self.parts.iter().all(|part| part.is_held())
    }

    /// Returns the state of the lock or term as this client knows it at this instant, without a request.
    ///
    /// Of several locks that were taken as one, it is the worst state. A lock that was given back is lost, with the reason
    /// [`LossReason::Resigned`].
    pub fn state(&self) -> LeaseState {
        match self.check() {
            Err(LockError::Lost { reason, .. }) => return LeaseState::Lost(reason),
            Err(_forked) => return LeaseState::Lost(LossReason::SessionEnded),
            Ok(()) => {}
        }
        let states = self.shares().into_iter().map(|share| share.lease().state());
        states.fold(LeaseState::Held, |worst, state| match (worst, state) {
            (LeaseState::Lost(reason), _) | (_, LeaseState::Lost(reason)) => LeaseState::Lost(reason),
            (LeaseState::Suspended, _) | (_, LeaseState::Suspended) => LeaseState::Suspended,
            (LeaseState::Held, LeaseState::Held) => LeaseState::Held,
        })
    }

    /// Returns how long the lock is certain to be held, or the term to last, if no server answers from now on.
    ///
    /// The clock includes the time during which the machine is suspended. Each answer of a server extends the time, up
    /// to a part of the session timeout: 22.2 s with default settings. It is zero for a lock that is lost or given back,
    /// and for a term that is over. An outsider who deletes the lock's node or ends the session takes the lock away
    /// earlier.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn example() {
    /// let lock = zklock_core::current().expect("the caller holds a lock");
    /// if lock.remaining() < std::time::Duration::from_secs(5) {
    ///     // … bring the work to an end …
    /// }
    /// # }
    /// ```
    pub fn remaining(&self) -> Duration {
        if self.check().is_err() {
            return Duration::ZERO;
        }
        let remaining = self.shares().into_iter().map(|share| share.lease().session().clock().remaining());
        remaining.min().unwrap_or_default()
    }

    /// Fails if the lock is lost or given back, or the term is over. A broken connection is no failure.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), LockError> {
        self.parts[0].share().lease().check_process()?;
        self.parts.iter().try_for_each(|part| part.check())
    }

    /// Asks the servers whether the lock is still held, or the term still lasts, in one round trip.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock is not held any more, or the term is over.
    /// * [`LockError::Timeout`] if the servers do not answer within the client's default wait.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn verify(&self) -> Result<(), LockError> {
        self.check()?;
        let (asked, within) = (self.shares(), self.worker.default_wait());
        let path = asked[0].lease().path().clone();
        let settled = async move {
            join_all(asked.iter().map(|share| share.lease().settle())).await;
            Ok(())
        };
        let answer = self.worker.call(&path, within, settled).await;
        self.check()?;
        answer
    }

    /// Waits until the lock is lost or given back, or the term is over, and returns the reason.
    ///
    /// The reason is [`LossReason::Resigned`] once the holder has given the lock back, even if a later holder
    /// loses it. A call that waits already when a writer downgrades its lock returns this reason, too, although
    /// the lock is held on for reading.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost. Once the lock is lost or given back, every call returns at once.
    pub async fn lost(&self) -> LossReason {
        // Another thread of the parent may have had a mutex at the fork.
        if self.parts[0].share().lease().is_forked() {
            return LossReason::SessionEnded;
        }
        select_all(self.parts.iter().map(|part| part.lost())).await.0
    }

    /// Returns a permit for one write, unless the lock is lost or given back, or the term is over.
    pub(crate) fn permit(&self) -> Result<WritePermit, LockError> {
        self.check()?;
        let permit = WritePermit::take(&self.shares())?;
        self.check()?;
        Ok(permit)
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held")
            .field("paths", &self.paths().collect::<Vec<_>>())
            .field("fencing_token", &self.fencing_token())
            .field("is_held", &self.is_held())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{connected, soon};
    use crate::inherit;

    async fn check_given_back(kept: &Held) {
        assert!(!kept.is_held());
        let resigned = |error| matches!(error, LockError::Lost { reason: LossReason::Resigned, .. });
        assert!(kept.upsert("/data", "late").await.is_err_and(resigned));
        assert!(kept.get("/data").await.is_err_and(resigned));
        assert_eq!(soon(kept.lost()).await, LossReason::Resigned);
    }

    #[tokio::test]
    async fn handle_of_an_inner_holder_is_over_with_it_although_the_outer_one_holds_the_lock() {
        let (_server, client) = connected().await;
        let mutex = client.mutex("/a").unwrap();
        let outer = mutex.lock().await.unwrap();
        let inside = outer.scope(async {
            let inner = mutex.lock().await.unwrap();
            let kept = inner.scope(async { current().unwrap() }).await;
            assert!(kept.is_held());
            inner.release().await.unwrap();
            (kept, current().unwrap())
        });
        let (kept, held) = inside.await;
        check_given_back(&kept).await;
        held.upsert("/data", "in time").await.unwrap();
        assert!(held.is_held());
    }

    #[tokio::test]
    async fn handle_of_a_writer_is_over_after_its_downgrade() {
        let (_server, client) = connected().await;
        let writer = client.rwlock("/a").unwrap().write().await.unwrap();
        let kept = writer.scope(async { current().unwrap() }).await;
        kept.upsert("/data", "written").await.unwrap();
        let reader = writer.downgrade().await.unwrap();
        check_given_back(&kept).await;
        assert!(reader.is_held());
        assert_eq!(reader.get("/data").await.unwrap().as_deref(), Some(&b"written"[..]));
    }

    #[tokio::test]
    async fn a_wait_for_a_loss_ends_when_the_lock_is_given_back_and_tells_no_later_loss() {
        let (server, client) = connected().await;
        let mutex = client.mutex("/a").unwrap();
        let guard = mutex.lock().await.unwrap();
        let kept = guard.scope(async { current().unwrap() }).await;
        let waiting = tokio::spawn({
            let kept = kept.clone();
            async move { kept.lost().await }
        });
        // The next call has the same node.
        let next = tokio::spawn(async move { mutex.lock().await.unwrap() });
        guard.release().await.unwrap();
        let next = soon(next).await.unwrap();
        assert_eq!(soon(waiting).await.unwrap(), LossReason::Resigned);
        server.delete("/a");
        assert_eq!(soon(next.lost()).await, LossReason::NodeDeleted);
        check_given_back(&kept).await;
    }

    #[tokio::test]
    async fn the_remaining_time_runs_down_while_no_server_answers_and_is_zero_after_a_loss() {
        let (server, client) = connected().await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let kept = guard.scope(async { current().unwrap() }).await;
        let whole = kept.remaining();
        assert!(whole > Duration::ZERO && whole < Duration::from_secs(30), "{whole:?}");
        server.pause().unwrap();
        soon(async {
            while kept.remaining() + Duration::from_secs(4) > whole {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        assert!(kept.remaining() > Duration::ZERO);
        server.resume().unwrap();
        soon(async {
            while kept.remaining() + Duration::from_secs(4) < whole {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        server.delete("/a");
        soon(kept.lost()).await;
        assert_eq!(kept.remaining(), Duration::ZERO);
    }

    #[tokio::test]
    async fn locks_that_were_taken_as_one_are_not_held_once_the_first_of_them_is_given_back() {
        let (_server, client) = connected().await;
        let first = client.mutex("/a").unwrap().lock().await.unwrap();
        let second = client.mutex("/b").unwrap().lock().await.unwrap();
        let holds = [first.into_holds(), second.into_holds()].into_iter().flatten().collect();
        let guard = crate::Guard::<crate::MultiLock>::new(holds);
        let inside = guard.scope(async { (current().unwrap(), inherit(async { held().len() })) });
        let (kept, count) = inside.await;
        assert!(kept.check().is_ok());
        let mut holds = guard.into_holds();
        drop(holds.pop());
        assert!(kept.check().is_err_and(|error| error.is_lost()));
        assert_eq!(count.await, 0);
    }
}
