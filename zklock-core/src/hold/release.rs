//! Ends holds.

use std::mem;
use std::sync::Arc;

use futures_lite::future::yield_now;
use futures_util::future::join_all;

use crate::client::Client;
use crate::client::queueing::Release;
use crate::client::worker::Unanswered;
use crate::cohort::Grant;
use crate::error::{LockError, LossReason, Phase};
use crate::lease::Share;

use super::node::{Node, Ties};
use super::spanned::Closing;
use super::{Hold, Holds};

/// Ends all holds concurrently, beginning with the last one, even if the release of one fails. Returns the
/// first failure and logs the others.
pub(crate) async fn release_all(holds: Holds) -> Result<(), LockError> {
    each(holds, Hold::release).await
}

/// Ends all holds after a body, beginning with the last one, and logs the failures.
pub(crate) async fn finish_all(holds: Holds) {
    if let Err(error) = each(holds, Hold::finish).await {
        log(&error);
    }
}

async fn each<F: Future<Output = Result<(), LockError>>>(
    holds: Holds,
    end: impl Fn(Hold) -> F,
) -> Result<(), LockError> {
    let holds = match holds {
        Holds::One(hold) => return end(hold).await,
        Holds::Many(holds) => holds,
    };
    let outcomes = join_all(holds.into_iter().rev().map(end)).await;
    let mut failures = outcomes.into_iter().filter_map(Result::err);
    let first = failures.next();
    failures.for_each(|error| log(&error));
    first.map_or(Ok(()), Err)
}

fn log(error: &LockError) {
    tracing::warn!(%error, "release failed");
}

/// The end of a hold.
enum End {
    /// Others hold the lock as before.
    Shared(Arc<Node>),
    /// The last hold for writing has ended, and holds for reading are left.
    LetsReadersIn(Arc<Grant>, Rest),
    /// The last hold has ended.
    GivesBack(Grant, Rest),
}

/// The rest of a hold, which is kept until its release has ended.
struct Rest {
    span: Option<Closing>,
    client: Client,
}

impl Hold {
    /// Ends this hold after a body. The last hold gives the lock back, and does not wait for the servers, unless the
    /// client is configured so. Returns an error only if it has waited for them.
    pub(crate) async fn finish(self) -> Result<(), LockError> {
        if self.client().worker().settings().release == Release::Acknowledged {
            return self.release().await;
        }
        match self.part() {
            End::Shared(_) => {}
            End::LetsReadersIn(grant, rest) => {
                rest.client.worker().spawn(async move { drop(let_readers_in(grant).await) });
            }
            End::GivesBack(grant, _rest) => {
                let release = grant.give_back();
                if release.has_to_yield() {
                    yield_now().await;
                }
                release.handed_over().await;
            }
        }
        Ok(())
    }

    /// Ends this hold. The last hold gives the lock back, and waits until another call of this client has it or
    /// the servers have released it. The last hold for writing downgrades the lock instead if holds for reading
    /// are left.
    pub(crate) async fn release(self) -> Result<(), LockError> {
        match self.part() {
            End::Shared(node) => node.tenure().check(),
            // Boxed, so that the futures of inner holds are small.
            end => Box::pin(release(end)).await,
        }
    }

    fn part(mut self) -> End {
        let (own, outer, stake) = (self.own.get().cloned(), self.ties.clone(), mem::take(&mut self.stake));
        // A request to release is not reported any more.
        drop(self);
        let last_writing = stake.give_up();
        let ties = match own {
            Some(own) => {
                drop(outer);
                own
            }
            None => outer,
        };
        let node = ties.node.clone();
        // Kept, so that an entry that fails meanwhile does not release the lock.
        let last =
            last_writing.map(|client| (ties.grant.clone(), Rest { span: ties.span.closing(), client }));
        match (Arc::into_inner(ties), last) {
            (Some(ties), last) => {
                let was_last_writer = last.is_some();
                drop(last);
                ties.part(was_last_writer)
            }
            (None, Some((grant, rest))) => End::LetsReadersIn(grant, rest),
            (None, None) => End::Shared(node),
        }
    }
}

impl Ties {
    fn part(self, was_last_writer: bool) -> End {
        let Self { span, grant, node, client, .. } = self;
        let rest = Rest { span: span.give_up(), client };
        if was_last_writer && Arc::strong_count(&grant) > 1 {
            return End::LetsReadersIn(grant, rest);
        }
        match Arc::into_inner(grant) {
            Some(grant) => End::GivesBack(grant, rest),
            None => End::Shared(node),
        }
    }
}

/// Waits for the release of a hold.
async fn release(end: End) -> Result<(), LockError> {
    // The work runs on the client's thread, where it continues even if the caller's future is dropped.
    let (outcome, rest) = match end {
        End::Shared(node) => return node.tenure().check(),
        End::LetsReadersIn(grant, rest) => {
            let (share, within) = (grant.share().clone(), rest.client.default_wait());
            let answer = rest.client.worker().call(within, let_readers_in(grant)).await;
            (rest.outcome(answer, &share), rest)
        }
        End::GivesBack(grant, rest) => (rest.released(grant).await, rest),
    };
    if let Some(span) = rest.span {
        span.note(&outcome);
    }
    outcome
}

impl Rest {
    async fn released(&self, grant: Grant) -> Result<(), LockError> {
        let share = grant.share().clone();
        let release = grant.give_back();
        if release.has_to_yield() {
            // The call that has the lock now, or is about to come for it, may wait for this thread. The present
            // task goes on right behind it, and not when this thread is idle, as after Tokio's `yield_now`.
            yield_now().await;
        }
        if let Some(outcome) = release.outcome() {
            return outcome;
        }
        let answer = self.client.worker().call(self.client.default_wait(), release.done()).await;
        self.outcome(answer, &share)
    }

    fn outcome(
        &self,
        answer: Result<Result<(), LockError>, Unanswered>,
        share: &Share,
    ) -> Result<(), LockError> {
        let tenure = share.tenure();
        match answer {
            Ok(outcome) => outcome,
            Err(Unanswered::InTime) => Err(LockError::Timeout {
                path: tenure.path().relative().to_owned(),
                waited: self.client.default_wait(),
                phase: Phase::Releasing,
                holder: None,
            }),
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
