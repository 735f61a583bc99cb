//! Ends holds.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use crate::client::worker::Worker;
use crate::cohort::{self, Grant};
use crate::error::LockError;
use crate::lease::Tenure;

use super::Hold;
use super::holds::Holds;
use super::node::Ties;
use super::over::{Over, Rest, released};
use super::state::Left;

/// A release that has begun.
pub(crate) enum Releasing {
    Done(Result<(), LockError>),
    /// Boxed, because the futures of calls that wait for a lock have room for the release.
    UnderWay(Pin<Box<dyn Future<Output = Result<(), LockError>> + Send>>),
}

/// Ends all holds, beginning with the last one, even if the release of one fails. The outcome is the first failure, and the
/// others are logged.
pub(crate) fn begin_release(holds: Holds) -> Releasing {
    let end = |hold: Hold| hold.end_here(Arc::clone, Grant::release);
    match holds {
        Holds::One(hold) => match end(hold) {
            End::Shared(tenure) => Releasing::Done(tenure.check()),
            End::Over(over) => Releasing::UnderWay(Box::pin(released(over))),
        },
        Holds::Many(holds) => {
            let ends = holds.into_iter().rev().map(end).collect();
            Releasing::UnderWay(Box::pin(all_released(ends)))
        }
    }
}

/// Ends all holds, as [`begin_release`] does, and waits for the outcome. A failure is logged, but for a loss, which was told
/// before. If the release takes longer than `within`, it continues in the background.
pub(crate) async fn release_within(worker: &Worker, holds: Holds, within: Duration) {
    let released = async {
        match begin_release(holds) {
            Releasing::Done(outcome) => outcome,
            Releasing::UnderWay(released) => released.await,
        }
    };
    tokio::select! {
        biased;
        outcome = released => match outcome {
            Err(error) if error.is_lost() => {}
            outcome => log_failure(outcome),
        },
        () = worker.pause(within) => {}
    }
}

/// Waits for the ends of several holds at once.
async fn all_released(ends: Vec<End<Arc<Tenure>>>) -> Result<(), LockError> {
    let released = async |end: End<Arc<Tenure>>| match end {
        End::Shared(tenure) => tenure.check(),
        End::Over(over) => released(over).await,
    };
    let outcomes = join_all(ends.into_iter().map(released)).await;
    let mut failures = outcomes.into_iter().filter(Result::is_err);
    let first = failures.next().unwrap_or(Ok(()));
    failures.for_each(log_failure);
    first
}

pub(super) fn log_failure(outcome: Result<(), LockError>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "release failed");
    }
}

/// The end of a hold.
pub(super) enum End<S> {
    /// Others hold the lock as before. Contains what the caller has taken from the lease.
    Shared(S),
    Over(Over),
}

impl Hold {
    /// Ends this hold. The last hold gives the lock back. The last hold for writing is followed by a downgrade instead if
    /// holds for reading are left. If others hold the lock as before, `shared` has looked at the lease. `give_back` gives the
    /// lock back.
    pub(super) fn end_here<S>(
        mut self,
        shared: impl FnOnce(&Arc<Tenure>) -> S,
        give_back: fn(Grant) -> cohort::Release,
    ) -> End<S> {
        // A request to release is not reported any more.
        self.leave().expect("a hold ends once").end(shared, give_back)
    }
}

impl Left {
    /// Gives the lock back if this was the last hold of it, and downgrades it if it was the last one for writing.
    pub(super) fn end<S>(
        self,
        shared: impl FnOnce(&Arc<Tenure>) -> S,
        give_back: fn(Grant) -> cohort::Release,
    ) -> End<S> {
        let (own, around, stake) = match self {
            Self::Tied { own, around, stake } => (own, around, stake),
            Self::Bare { grant, client } => {
                let shared = shared(grant.tenure());
                return end((grant, Rest { span: None, client }), shared, give_back);
            }
        };
        let last_writing = stake.give_up();
        let ties = match own {
            Some(own) => {
                drop(around);
                own
            }
            None => around,
        };
        let shared = shared(ties.node.tenure());
        // Kept, so that an entry that fails meanwhile does not release the lock.
        let last =
            last_writing.map(|client| (ties.grant.clone(), Rest { span: ties.span.closing(), client }));
        match (Arc::into_inner(ties), last) {
            (Some(ties), last) => {
                let was_last_writer = last.is_some();
                drop(last);
                ties.part(was_last_writer, shared, give_back)
            }
            (None, Some((grant, rest))) => End::Over(Over::LetsReadersIn(grant, rest)),
            (None, None) => End::Shared(shared),
        }
    }
}

impl Ties {
    /// Gives the lock back. These ties have no other owner.
    pub(super) fn end(self, give_back: fn(Grant) -> cohort::Release) -> End<()> {
        self.part(false, (), give_back)
    }

    fn part<S>(self, was_last_writer: bool, shared: S, give_back: fn(Grant) -> cohort::Release) -> End<S> {
        let Self { span, grant, client, .. } = self;
        let rest = Rest { span: span.give_up(), client };
        if was_last_writer && Arc::strong_count(&grant) > 1 {
            return End::Over(Over::LetsReadersIn(grant, rest));
        }
        end((grant, rest), shared, give_back)
    }
}

/// Gives up one claim to a grant, and gives the lock back if it was the last one.
fn end<S>((grant, rest): (Arc<Grant>, Rest), shared: S, give_back: fn(Grant) -> cohort::Release) -> End<S> {
    match Arc::into_inner(grant) {
        Some(grant) => End::Over(Over::GivenBack(give_back(grant), rest)),
        None => End::Shared(shared),
    }
}
