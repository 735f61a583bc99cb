//! Ends holds after a body.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::join_all;

use crate::client::settings::Release;
use crate::cohort::{self, Grant};
use crate::error::LockError;

use super::Hold;
use super::holds::Holds;
use super::node::Ties;
use super::over::released;
use super::release::{End, log_failure};

/// The rest of a release after a body, if there is something to wait for.
#[must_use = "the release may go on only while it is polled"]
pub(crate) struct Finishing(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Finishing {
    /// Returns the rest of a release of nothing.
    pub(super) fn nothing() -> Self {
        Self(None)
    }

    fn of(rest: impl Future<Output = Result<(), LockError>> + Send + 'static) -> Self {
        Self(Some(Box::pin(async { log_failure(rest.await) })))
    }
}

impl Future for Finishing {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            None => Poll::Ready(()),
            Some(rest) => rest.as_mut().poll(context),
        }
    }
}

/// Ends all holds after a body, beginning with the last one, and logs the failures. It does not wait for the servers,
/// unless the client is configured so.
pub(crate) fn finish(holds: Holds) -> Finishing {
    let give_back = giving_back(holds[0].client().worker().settings().release);
    let finish = |hold: Hold| finish_end(hold.end_here(|_| (), give_back));
    match holds {
        Holds::One(hold) => finish(hold),
        Holds::Many(holds) => {
            let rests: Vec<_> = holds.into_iter().rev().map(finish).collect();
            Finishing(Some(Box::pin(async { drop(join_all(rests).await) })))
        }
    }
}

/// Finishes an entry that has left these ties behind, after a body. It is a function of its own, so that the end of an entry
/// that leaves none is inlined.
#[inline(never)]
pub(super) fn finish_ties(ties: Arc<Ties>) -> Finishing {
    let Some(last) = Arc::into_inner(ties) else { return Finishing::nothing() };
    let release = last.client.worker().settings().release;
    finish_end(last.end(giving_back(release)))
}

/// Returns the way to give a lock back after a body.
fn giving_back(release: Release) -> fn(Grant) -> cohort::Release {
    match release {
        Release::Acknowledged => Grant::release,
        Release::Background => Grant::give_back,
    }
}

/// Finishes a hold that has ended after a body.
#[inline]
fn finish_end(end: End<()>) -> Finishing {
    let End::Over(over) = end else { return Finishing::nothing() };
    match over.release() {
        Release::Background => Finishing(Some(Box::pin(over.finish()))),
        Release::Acknowledged => Finishing::of(released(over)),
    }
}
