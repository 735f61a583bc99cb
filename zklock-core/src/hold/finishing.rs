//! Ends holds after a body.

use std::pin::Pin;
use std::task::{Context, Poll};

use crate::client::queueing::Release;
use crate::cohort::Grant;
use crate::error::LockError;

use super::holds::Holds;
use super::release::{End, Releasing, begin_release, each, log};

/// The rest of a release after a body, if there is something to wait for.
#[must_use = "the release may go on only while it is polled"]
pub(crate) struct Finishing(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

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
    Finishing(match holds[0].client().worker().settings().release {
        Release::Acknowledged => match begin_release(holds) {
            Releasing::Done(outcome) => {
                log_failure(outcome);
                None
            }
            Releasing::UnderWay(released) => Some(Box::pin(async { log_failure(released.await) })),
        },
        Release::Background => begin_finish(holds),
    })
}

fn begin_finish(holds: Holds) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
    match holds {
        Holds::One(hold) => match hold.end_here(|_| (), Grant::give_back) {
            End::Shared(()) => None,
            end => Some(Box::pin(async { log_failure(end.finish().await) })),
        },
        Holds::Many(members) => {
            let ended = each(members.into_vec(), |_| (), End::finish);
            Some(Box::pin(async { log_failure(ended.await) }))
        }
    }
}

fn log_failure(outcome: Result<(), LockError>) {
    if let Err(error) = outcome {
        log(&error);
    }
}
