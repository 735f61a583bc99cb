//! Ends holds.

use std::sync::Arc;

use futures_lite::future::yield_now;
use futures_util::future::join_all;

use crate::client::queueing::Release;
use crate::client::worker::Unanswered;
use crate::cohort::Grant;
use crate::error::{LockError, LossReason, Phase};

use super::Hold;
use super::spanned::Closing;
use super::stake::Stake;

/// Ends all holds concurrently, beginning with the last one, even if the release of one fails. Returns the
/// first failure and logs the others.
pub(crate) async fn release_all(holds: Vec<Arc<Hold>>) -> Result<(), LockError> {
    let outcomes = join_all(holds.into_iter().rev().map(release)).await;
    let mut failures = outcomes.into_iter().filter_map(Result::err);
    let first = failures.next();
    failures.for_each(|error| tracing::warn!(%error, "release failed"));
    first.map_or(Ok(()), Err)
}

/// Ends all holds after a body, beginning with the last one.
pub(crate) async fn finish_all(holds: Vec<Arc<Hold>>) {
    let outcomes = join_all(holds.into_iter().rev().map(finish)).await;
    for error in outcomes.into_iter().filter_map(Result::err) {
        tracing::warn!(%error, "release failed");
    }
}

async fn finish(hold: Arc<Hold>) -> Result<(), LockError> {
    owned(hold).await.finish().await
}

async fn release(hold: Arc<Hold>) -> Result<(), LockError> {
    owned(hold).await.release().await
}

/// Returns a hold that is about to end. A call inside of it may refer to it while it looks for a hold to enter
/// again. It does so for the time of one step, so the wait is short.
async fn owned(mut hold: Arc<Hold>) -> Hold {
    loop {
        match Arc::try_unwrap(hold) {
            Ok(hold) => return hold,
            Err(shared) => hold = shared,
        }
        yield_now().await;
    }
}

impl Hold {
    /// Ends this hold after a body. The last hold gives the lock back, and does not wait for the servers, unless the
    /// client is configured so. Returns an error only if it has waited for them.
    pub(crate) async fn finish(self) -> Result<(), LockError> {
        if self.client.worker().settings().release == Release::Acknowledged {
            return self.release().await;
        }
        let Self { client, grant, stake, end, mut span, .. } = self;
        // Closed at the end.
        let _span = span.give_up();
        drop(end);
        if stake.is_some_and(Stake::was_last) && Arc::strong_count(&grant) > 1 {
            client.worker().spawn(async move { drop(let_readers_in(grant).await) });
        } else if let Some(grant) = Arc::into_inner(grant) {
            let release = grant.give_back();
            if release.has_to_yield() {
                yield_now().await;
            }
            release.handed_over().await;
        }
        Ok(())
    }

    /// Ends this hold. The last hold gives the lock back, and waits until another call of this client has it or
    /// the servers have released it. The last hold for writing downgrades the lock instead if holds for reading
    /// are left.
    pub(crate) async fn release(mut self) -> Result<(), LockError> {
        let span = self.span.give_up();
        let outcome = self.released().await;
        if let Some(span) = span {
            span.note(&outcome);
        }
        outcome
    }

    /// Gives up this hold's part in its span, so that the hold can be moved to the client's thread, where the span must
    /// not be closed.
    pub(crate) fn give_up_span(&mut self) -> Option<Closing> {
        self.span.give_up()
    }

    async fn released(self) -> Result<(), LockError> {
        let Self { client, grant, stake, places, end, .. } = self;
        // A request to release is not reported any more.
        drop(end);
        let share = grant.share().clone();
        let within = client.default_wait();
        let lets_readers_in = stake.is_some_and(Stake::was_last) && Arc::strong_count(&grant) > 1;
        // The work runs on the client's thread, where it continues even if the caller's future is dropped.
        let answer = if lets_readers_in {
            client.worker().call(within, let_readers_in(grant)).await
        } else {
            let Some(grant) = Arc::into_inner(grant) else { return share.tenure().check() };
            let release = grant.give_back();
            if release.has_to_yield() {
                // The call that has the lock now, or is about to come for it, may wait for this thread. The present
                // task goes on right behind it, and not when this thread is idle, as after Tokio's `yield_now`.
                yield_now().await;
            }
            if let Some(outcome) = release.outcome() {
                return outcome;
            }
            client.worker().call(within, release.done()).await
        };
        drop(places);
        let tenure = share.tenure();
        match answer {
            Ok(outcome) => outcome,
            Err(Unanswered::InTime) => {
                let path = tenure.path().relative().to_owned();
                Err(LockError::Timeout { path, waited: within, phase: Phase::Releasing, holder: None })
            }
            // The client's thread may have ended right after the release.
            Err(Unanswered::Ended) => share
                .outcome()
                .unwrap_or_else(|| Err(tenure.lost_error(tenure.lose(LossReason::SessionEnded)))),
        }
    }
}

/// Downgrades the lock that the last writer shares with readers, and then releases it if all readers have
/// ended meanwhile. When several holds end concurrently, exactly one of them observes that it is the last.
async fn let_readers_in(grant: Arc<Grant>) -> Result<(), LockError> {
    let downgraded = grant.downgrade().await;
    match Arc::into_inner(grant) {
        Some(grant) => grant.give_back().done().await,
        None => downgraded,
    }
}
