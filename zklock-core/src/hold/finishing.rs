//! Ends holds after a body.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::client::queueing::Release;
use crate::cohort::{self, Grant};
use crate::error::LockError;

use super::holds::Holds;
use super::node::Ties;
use super::over::{Over, released};
use super::release::{End, each, log, release_all};

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
    let release = holds[0].client().worker().settings().release;
    match (holds, release) {
        (Holds::One(hold), _) => finish_end(hold.end_here(|_| (), giving_back(release))),
        (holds, Release::Acknowledged) => Finishing::of(release_all(holds)),
        (Holds::Many(members), Release::Background) => {
            let finish = async |end| {
                if let End::Over(over) = end {
                    Over::finish(over).await;
                }
                Ok(())
            };
            Finishing::of(each(members.into_vec(), |_| (), finish))
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

fn log_failure(outcome: Result<(), LockError>) {
    if let Err(error) = outcome {
        log(&error);
    }
}
