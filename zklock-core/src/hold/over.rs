//! The ends of the last holds of a lock, and the wait for the servers.

use std::sync::Arc;
use std::time::Duration;

use futures_lite::future::yield_now;

use crate::client::Client;
use crate::client::settings::Release;
use crate::client::worker::Unanswered;
use crate::cohort::{self, Grant};
use crate::error::{LockError, LossReason, Phase};
use crate::lease::{Late, Stint};

use super::spanned::Closing;

/// The end of the last hold, or of the last one for writing.
pub(super) enum Over {
    /// The last hold for writing has ended, and holds for reading are left.
    LetsReadersIn(Arc<Grant>, Rest),
    /// The last hold has ended, and the lock is given back.
    GivenBack(cohort::Release, Rest),
}

/// The rest of a hold, which is kept until its release has ended.
pub(super) struct Rest {
    pub(super) span: Option<Closing>,
    pub(super) client: Client,
}

impl Over {
    /// Returns the way in which the client gives locks back after a body.
    pub(super) fn release(&self) -> Release {
        let (Self::LetsReadersIn(_, rest) | Self::GivenBack(_, rest)) = self;
        rest.client.worker().settings().release
    }

    /// Waits until the request that gives the lock back has been handed to the connection.
    pub(super) async fn finish(self) {
        match self {
            Self::LetsReadersIn(grant, rest) => let_readers_in_later(grant, &rest),
            Self::GivenBack(release, _rest) => {
                if release.has_to_yield() {
                    yield_now().await;
                }
                release.handed_over().await;
            }
        }
    }
}

/// Waits until another call of this client has the lock or the servers have released it, or until they have applied the
/// downgrade.
pub(super) async fn released(over: Over) -> Result<(), LockError> {
    // The work runs on the client's thread, where it continues even if the caller's future is dropped.
    let (outcome, rest) = match over {
        Over::LetsReadersIn(grant, rest) => {
            let (stint, within) = (grant.stint(), rest.client.default_wait());
            let answer = rest.client.worker().call(within, let_readers_in(grant)).await;
            (rest.outcome(answer, &stint), rest)
        }
        Over::GivenBack(release, rest) => (rest.released(release).await, rest),
    };
    if let Some(span) = rest.span {
        span.note(&outcome);
    }
    outcome
}

impl Rest {
    async fn released(&self, release: cohort::Release) -> Result<(), LockError> {
        let stint = release.stint().clone();
        if release.has_to_yield() {
            // The call that has the lock now, or is about to come for it, may wait for this thread. The present
            // task goes on right behind it, and not when this thread is idle, as after Tokio's `yield_now`.
            yield_now().await;
        }
        if let Some(outcome) = release.outcome() {
            return outcome;
        }
        let answer = match release.is_under_way() {
            true => release.done_in_time().await.map_err(|Late| Unanswered::InTime),
            // The contender may not have a task that sees to the deadline yet.
            false => self.client.worker().call(self.client.default_wait(), release.done()).await,
        };
        self.outcome(answer, &stint)
    }

    fn outcome(
        &self,
        answer: Result<Result<(), LockError>, Unanswered>,
        stint: &Stint,
    ) -> Result<(), LockError> {
        let tenure = stint.tenure();
        match answer {
            Ok(outcome) => outcome,
            Err(unanswered @ Unanswered::Forked) => Err(unanswered.into_error(tenure.path(), Duration::ZERO)),
            Err(Unanswered::InTime) => Err(LockError::Timeout {
                path: tenure.path().relative().to_owned(),
                waited: self.client.default_wait(),
                phase: Phase::Releasing,
                holder: None,
            }),
            // The client's thread may have ended right after the release.
            Err(Unanswered::Ended | Unanswered::Panicked) => stint
                .outcome()
                .unwrap_or_else(|| Err(tenure.lost_error(tenure.lose(LossReason::SessionEnded)))),
        }
    }
}

/// Lets readers in, in the background.
pub(super) fn let_readers_in_later(grant: Arc<Grant>, rest: &Rest) {
    rest.client.worker().spawn(async move { drop(let_readers_in(grant).await) });
}

/// Downgrades the lock that the last writer shares with readers, and then releases it if all readers have
/// ended meanwhile. When several holds end concurrently, exactly one of them observes that it is the last.
async fn let_readers_in(grant: Arc<Grant>) -> Result<(), LockError> {
    let downgraded = grant.downgrade().await;
    match Arc::into_inner(grant) {
        Some(grant) => grant.release().done().await,
        None => downgraded,
    }
}
