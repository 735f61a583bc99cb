//! Ends holds, and waits for the servers.

use std::sync::Arc;
use std::time::Duration;

use futures_lite::future::yield_now;

use crate::client::settings::Release;
use crate::deadline::{Contention, Deadline};
use crate::error::{LockError, Phase};
use crate::events::HoldSpan;
use crate::lease::Share;
use crate::time::{Elapsed, timeout};

use super::enter::admit;
use super::owner::{Owner, Remaining};
use super::{Hold, Part};

/// The end of one hold, whose release or downgrade may still be under way.
pub(crate) struct End {
    pub(super) remaining: Remaining,
    pub(super) share: Arc<Share>,
    pub(super) span: Option<Arc<HoldSpan>>,
    /// Keeps the client until the release has ended.
    pub(super) _owner: Arc<Owner>,
}

/// Ends these holds, beginning with the last one, and gives back the locks whose last holds they were.
pub(crate) fn begin_release(holds: Vec<Hold>) -> Vec<End> {
    holds.iter().rev().filter_map(Hold::end).collect()
}

/// Waits for at most `within` until the servers have confirmed the release, or another call of this client has the lock. The
/// outcome is the first failure, and the others are logged.
pub(crate) async fn released(ends: Vec<End>, within: Duration) -> Result<(), LockError> {
    let deadline = Deadline::new(within, Contention::Wait);
    let mut first = Ok(());
    // All of them are under way, so that one wait after the other takes as long as the longest.
    for end in ends {
        match (&first, end.released(deadline).await) {
            (Ok(()), outcome) => first = outcome,
            (Err(_), Err(error)) => log(&error),
            (Err(_), Ok(())) => {}
        }
    }
    first
}

/// Ends the holds of a call that cannot have all of its locks. Logs a failure, unless it is a loss, which was told before, or
/// the release only takes longer.
pub(crate) async fn give_up(holds: Vec<Hold>, within: Duration) {
    let deadline = Deadline::new(within, Contention::Wait);
    for end in begin_release(holds) {
        match end.released(deadline).await {
            Err(error) if !error.is_lost() && !error.is_timeout() => log(&error),
            Ok(()) | Err(_) => {}
        }
    }
}

/// Ends holds after a body. Waits for the servers only if the client is configured to. Failures are logged.
pub(crate) async fn finish(holds: Vec<Hold>) {
    // A hold keeps its client until it ends: without one, nothing is left to release.
    let Some(worker) = holds.first().and_then(|hold| hold.entry().worker()) else { return };
    match worker.settings.release {
        Release::Acknowledged => {
            if let Err(error) = released(begin_release(holds), worker.default_wait()).await {
                log(&error);
            }
        }
        Release::Background => {
            // All of them are ordered before the first one is waited for.
            for end in begin_release(holds) {
                end.handed_over().await;
            }
        }
    }
}

fn log(error: &LockError) {
    tracing::warn!(%error, "release failed");
}

impl End {
    async fn released(self, deadline: Deadline) -> Result<(), LockError> {
        let Self { remaining, share, span, _owner } = self;
        let outcome = match remaining {
            Remaining::Others => {
                return share.lease().check_process().and_then(|()| share.lease().check());
            }
            // Boxed, so that the futures of calls, which have room for a release, are small.
            Remaining::Readers(downgrade) => Box::pin(answered(&share, (downgrade, deadline))).await,
            Remaining::Nobody => {
                // Lets the call that has the lock now run first, because it may wait for this thread. Unlike Tokio's
                // `yield_now`, this one resumes the present task right behind it, and not when the thread is idle.
                yield_now().await;
                match share.outcome() {
                    Some(outcome) => outcome,
                    None => Box::pin(answered(&share, (share.released(), deadline))).await,
                }
            }
        };
        if let (Some(span), Err(error)) = (&span, &outcome) {
            span.note(error);
        }
        outcome
    }

    /// Waits until the request that gives the lock back has been handed to the connection. A downgrade is not waited for,
    /// because the lock is still held.
    async fn handed_over(self) {
        if let Remaining::Nobody = self.remaining {
            yield_now().await;
            self.share.handed_over().await;
        }
    }
}

/// Waits for the outcome of a release, which goes on even if the caller's future is dropped.
async fn answered(
    share: &Share,
    (outcome, deadline): (impl Future<Output = Result<(), LockError>>, Deadline),
) -> Result<(), LockError> {
    let lease = share.lease();
    lease.check_process()?;
    timeout(deadline.left(), outcome).await.unwrap_or_else(|Elapsed| {
        let (path, waited) = (lease.path().relative().to_owned(), deadline.wait);
        Err(LockError::Timeout { path, waited, phase: Phase::Releasing, holder: None })
    })
}

/// Turns a writer's hold into a reader's. Waits for writers inside, and then for the servers to apply it.
pub(crate) async fn downgraded(hold: &mut Hold, deadline: Deadline) -> Result<(), LockError> {
    let inside = admit((hold.entry(), 1), deadline).await?;
    let downgrade = hold.become_reader();
    drop(inside);
    let Some(downgrade) = downgrade else { return hold.lease().check() };
    let share = hold.share().clone();
    let outcome = answered(&share, (downgrade, deadline)).await;
    if let (Some(span), Err(error)) = (hold.span(), &outcome) {
        span.note(error);
    }
    outcome
}
