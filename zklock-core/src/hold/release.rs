//! Ends holds.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::future::join_all;

use crate::cohort::{self, Grant};
use crate::error::LockError;
use crate::lease::Tenure;

use super::Hold;
use super::holds::{Holds, Members};
use super::node::Ties;
use super::over::{Over, Rest, let_readers_in_later, released};
use super::state::Left;

/// A release that has begun.
pub(crate) enum Releasing {
    Done(Result<(), LockError>),
    /// Boxed, because the futures of calls that wait for a lock have room for the release.
    UnderWay(Pin<Box<dyn Future<Output = Result<(), LockError>> + Send>>),
}

/// Ends all holds concurrently, beginning with the last one, even if the release of one fails. Its outcome is the first
/// failure, and the others are logged.
pub(crate) fn begin_release(holds: Holds) -> Releasing {
    match holds {
        Holds::One(hold) => match hold.end_here(Arc::clone, Grant::release) {
            End::Shared(tenure) => Releasing::Done(tenure.check()),
            End::Over(over) => Releasing::UnderWay(Box::pin(released(over))),
        },
        Holds::Many(members) => {
            let released = async |end: End<Arc<Tenure>>| match end {
                End::Shared(tenure) => tenure.check(),
                End::Over(over) => released(over).await,
            };
            Releasing::UnderWay(Box::pin(each(members.into_vec(), Arc::clone, released)))
        }
    }
}

/// Ends all holds, as [`begin_release`] does, and waits for the outcome.
pub(crate) async fn release_all(holds: Holds) -> Result<(), LockError> {
    let released = match begin_release(holds) {
        Releasing::Done(outcome) => return outcome,
        Releasing::UnderWay(released) => released,
    };
    released.await
}

pub(super) async fn each<S, F: Future<Output = Result<(), LockError>>>(
    members: Vec<Hold>,
    shared: impl Fn(&Arc<Tenure>) -> S,
    end: impl Fn(End<S>) -> F,
) -> Result<(), LockError> {
    let outcomes = join_all(end_together(members, shared).into_iter().map(end)).await;
    let mut failures = outcomes.into_iter().filter_map(Result::err);
    let first = failures.next();
    failures.for_each(|error| log(&error));
    first.map_or(Ok(()), Err)
}

pub(super) fn log(error: &LockError) {
    tracing::warn!(%error, "release failed");
}

/// Ends holds, beginning with the last one. The locks of which these were the last holds are given back together.
fn end_together<S>(holds: Vec<Hold>, shared: impl Fn(&Arc<Tenure>) -> S) -> Vec<End<S>> {
    let mut grants = Vec::new();
    let ends: Vec<_> = holds
        .into_iter()
        .rev()
        .map(|hold| match hold.part(&shared) {
            Part::Kept(end) => Ok(end),
            Part::Last(grant, rest) => {
                grants.push(grant);
                Err(rest)
            }
        })
        .collect();
    let mut releases = Grant::give_back_together(grants).into_iter();
    let ended = |end: Result<End<S>, Rest>| match end {
        Ok(end) => Some(end),
        Err(rest) => releases.next().map(|release| End::Over(Over::GivenBack(release, rest))),
    };
    ends.into_iter().filter_map(ended).collect()
}

/// A hold that has ended.
enum Part<S> {
    Kept(End<S>),
    /// It was the last one of its lock, which is to be given back.
    Last(Grant, Rest),
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

    fn part<S>(mut self, shared: impl FnOnce(&Arc<Tenure>) -> S) -> Part<S> {
        // A request to release is not reported any more.
        self.leave().expect("a hold ends once").part(shared)
    }
}

impl Left {
    /// Gives the lock back if this was the last hold of it, and downgrades it if it was the last one for writing.
    pub(super) fn end<S>(
        self,
        shared: impl FnOnce(&Arc<Tenure>) -> S,
        give_back: fn(Grant) -> cohort::Release,
    ) -> End<S> {
        self.part(shared).end(give_back)
    }

    #[inline]
    fn part<S>(self, shared: impl FnOnce(&Arc<Tenure>) -> S) -> Part<S> {
        let (own, around, stake) = match self {
            Self::Tied { own, around, stake } => (own, around, stake),
            Self::Bare { grant, client } => {
                let shared = shared(grant.tenure());
                return part((grant, Rest { span: None, client }), shared);
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
                ties.part(was_last_writer, shared)
            }
            (None, Some((grant, rest))) => Part::Kept(End::Over(Over::LetsReadersIn(grant, rest))),
            (None, None) => Part::Kept(End::Shared(shared)),
        }
    }
}

impl<S> Part<S> {
    fn end(self, give_back: fn(Grant) -> cohort::Release) -> End<S> {
        match self {
            Self::Kept(end) => end,
            Self::Last(grant, rest) => End::Over(Over::GivenBack(give_back(grant), rest)),
        }
    }
}

impl Ties {
    /// Gives the lock back. These ties have no other owner.
    pub(super) fn end(self, give_back: fn(Grant) -> cohort::Release) -> End<()> {
        self.part(false, ()).end(give_back)
    }

    fn part<S>(self, was_last_writer: bool, shared: S) -> Part<S> {
        let Self { span, grant, client, .. } = self;
        let rest = Rest { span: span.give_up(), client };
        if was_last_writer && Arc::strong_count(&grant) > 1 {
            return Part::Kept(End::Over(Over::LetsReadersIn(grant, rest)));
        }
        part((grant, rest), shared)
    }
}

/// Gives up one claim to a grant.
fn part<S>((grant, rest): (Arc<Grant>, Rest), shared: S) -> Part<S> {
    match Arc::into_inner(grant) {
        Some(grant) => Part::Last(grant, rest),
        None => Part::Kept(End::Shared(shared)),
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        for end in end_together(mem::take(&mut self.0), |_| ()) {
            if let End::Over(Over::LetsReadersIn(grant, rest)) = end {
                let_readers_in_later(grant, &rest);
            }
        }
    }
}
