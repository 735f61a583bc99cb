//! Ends holds, and waits for the servers.

use std::time::{Duration, Instant};

use futures_lite::future::yield_now;
use futures_util::future::join_all;

use crate::client::Client;
use crate::client::settings::Release;
use crate::client::worker::Unanswered;
use crate::deadline::Patience;
use crate::error::{LockError, LossReason, Phase};
use crate::lease::Stint;
use crate::local_queue::{self, Grant};

use super::enter::admit;
use super::owner::{Downgrade, Left};
use super::{Alive, Hold};

/// The end of one hold. The span and the client are kept until the release has ended.
pub(crate) struct End {
    rest: Rest,
    stint: Stint,
    alive: Alive,
}

enum Rest {
    /// Others hold the lock as before.
    None,
    Downgrade(Downgrade),
    Release(local_queue::Release),
}

/// Ends these holds, beginning with the last one, and gives back the locks whose last holds they were.
pub(crate) fn begin_release(holds: Vec<Hold>) -> Vec<End> {
    let end = |hold: &Hold| {
        let (left, alive) = hold.end()?;
        let rest = match left {
            Left::Others => Rest::None,
            Left::Readers(downgrade) => Rest::Downgrade(downgrade),
            Left::Nobody(grant) => Rest::Release(Grant::give_back(grant)),
        };
        Some(End { rest, stint: Stint::clone(hold.share()), alive })
    };
    holds.iter().rev().filter_map(end).collect()
}

/// Waits for at most `within` until the servers have confirmed the release, or another call of this client has the lock. The
/// outcome is the first failure, and the others are logged.
pub(crate) async fn released(ends: Vec<End>, within: Duration) -> Result<(), LockError> {
    let outcomes = join_all(ends.into_iter().map(|end| end.released(within))).await;
    let mut failures = outcomes.into_iter().filter_map(Result::err);
    let first = failures.next();
    failures.for_each(|error| log(&error));
    first.map_or(Ok(()), Err)
}

/// Ends the holds of a call that cannot have all of its locks. A failure is logged, but for a loss, which was told before.
pub(crate) async fn give_back(holds: Vec<Hold>, within: Duration) {
    match released(begin_release(holds), within).await {
        Err(error) if !error.is_lost() => log(&error),
        Ok(()) | Err(_) => {}
    }
}

/// Ends holds after a body. It does not wait for the servers, unless the client is configured so. Failures are logged.
pub(crate) async fn finish(holds: Vec<Hold>) {
    let Some(client) = holds.first().map(Hold::client) else { return };
    match client.worker().settings().release {
        Release::Acknowledged => {
            if let Err(error) = released(begin_release(holds), client.default_wait()).await {
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
    async fn released(self, within: Duration) -> Result<(), LockError> {
        let Self { rest, stint, alive } = self;
        let client = alive.owner.client();
        let outcome = match rest {
            Rest::None => return stint.tenure().check(),
            Rest::Downgrade(downgrade) => answered(client, &stint, (downgrade, within)).await,
            Rest::Release(release) => {
                if release.has_to_yield() {
                    // The call that has the lock now, or is about to come for it, may wait for this thread. The present
                    // task goes on right behind it, and not when this thread is idle, as after Tokio's `yield_now`.
                    yield_now().await;
                }
                match release.outcome() {
                    Some(outcome) => outcome,
                    None => answered(client, &stint, (release.done(), within)).await,
                }
            }
        };
        if let (Some(span), Err(error)) = (&alive.span, &outcome) {
            span.note(error);
        }
        outcome
    }

    /// Waits until the request that gives the lock back has been handed to the connection.
    async fn handed_over(self) {
        if let Rest::Release(release) = self.rest {
            if release.has_to_yield() {
                yield_now().await;
            }
            release.handed_over().await;
        }
    }
}

/// Waits for the outcome of a release on the client's thread, where it goes on even if the caller's future is dropped.
async fn answered(
    client: &Client,
    stint: &Stint,
    (outcome, within): (impl Future<Output = Result<(), LockError>> + Send + 'static, Duration),
) -> Result<(), LockError> {
    let tenure = stint.tenure();
    match client.worker().call(within, outcome).await {
        Ok(outcome) => outcome,
        Err(unanswered @ Unanswered::Forked) => Err(unanswered.into_error(tenure.path(), within)),
        Err(Unanswered::InTime) => Err(LockError::Timeout {
            path: tenure.path().relative().to_owned(),
            waited: within,
            phase: Phase::Releasing,
            holder: None,
        }),
        // The client's thread may have ended right after the release.
        Err(Unanswered::Ended | Unanswered::Panicked) => {
            stint.outcome().unwrap_or_else(|| Err(tenure.lost_error(tenure.lose(LossReason::SessionEnded))))
        }
    }
}

/// Makes the hold of a writer that of a reader. Waits for writers inside, and until the servers have applied it.
pub(crate) async fn become_reader(hold: &mut Hold, patience: Patience) -> Result<(), LockError> {
    let (client, started) = (hold.client(), Instant::now());
    let inside = admit(client.worker(), (hold.entry(), 1), || patience).await?;
    let downgrade = hold.read_on();
    drop(inside);
    let Some(downgrade) = downgrade else { return hold.tenure().check() };
    let stint = Stint::clone(hold.share());
    let within = patience.spent(started.elapsed()).left();
    let outcome = answered(&client, &stint, (downgrade, within)).await;
    if let (Some(span), Err(error)) = (hold.span(), &outcome) {
        span.note(error);
    }
    outcome
}
