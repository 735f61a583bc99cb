//! A call that waits in line.

use std::mem;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;

use crate::acquire::Patience;
use crate::error::LockError;
use crate::events::Witness;
use crate::session::drive::Contention;

use super::call::{Call, CallId, Manner, Side};
use super::calls::{Answer, Caller, Cohort, Local};
use super::grant::Grant;
use super::rules::{Served, Turned};

impl<R: Local> Cohort<R> {
    /// Waits in line for the lock.
    pub(super) async fn enter(
        self: Arc<Self>,
        side: Side,
        (patience, witness): (impl Fn() -> Patience, Witness),
    ) -> Result<Option<Grant>, LockError> {
        let (mut place, since) = (None, Instant::now());
        loop {
            let (reply, answer) = oneshot::channel();
            let caller = Caller { reply, wait: patience().wait, since, untold: Some(witness.clone()) };
            let waiting = match self.arrive(side, patience(), (place, caller)) {
                Ok(id) => Waiting { cohort: &self, id },
                Err(Turned::Contended) => return Ok(None),
                Err(Turned::Closed) => return Err(self.closed()),
            };
            place = Some(waiting.id);
            let answer = answer.await;
            mem::forget(waiting);
            match answer {
                Ok(Answer::Granted(grant)) => match grant.tenure().check() {
                    Ok(()) => {
                        // The thread that has sent the grant may not have told so yet. An end comes before the
                        // beginning of the next hold.
                        grant.share().succeed();
                        return Ok(Some(grant));
                    }
                    // It was lost before the caller could see it, such as during a pause of the process. The
                    // call goes back to its place in line.
                    Err(lost) if patience().left().is_zero() => return Err(lost),
                    Err(_) => {}
                },
                Ok(Answer::Contended) => return Ok(None),
                Ok(Answer::Failed(error)) => return Err(error),
                Err(_) => return Err(self.closed()),
            }
        }
    }

    fn arrive(
        self: &Arc<Self>,
        side: Side,
        patience: Patience,
        (place, caller): (Option<CallId>, Caller),
    ) -> Result<CallId, Turned> {
        if self.worker.closing().is_cancelled() {
            return Err(Turned::Closed);
        }
        let manner = match patience.contention {
            Contention::Wait => Manner::Wait,
            Contention::Leave => Manner::Try,
        };
        let caller = Some(caller);
        self.change(|rules, now| {
            let id = place.unwrap_or_else(|| rules.id());
            let deadline = now.checked_add(patience.left());
            match rules.arrive(Call { id, side, manner, deadline, caller }, now) {
                Ok(served) => (served, Ok(id)),
                Err(turned) => (Served::default(), Err(turned)),
            }
        })
        .inspect(|_| self.tell_queued())
    }
}

/// A call that waits in line, which leaves it when its future is dropped.
struct Waiting<'a, R: Local> {
    cohort: &'a Arc<Cohort<R>>,
    id: CallId,
}

impl<R: Local> Drop for Waiting<'_, R> {
    fn drop(&mut self) {
        self.cohort.change(|rules, now| (rules.gone(self.id, now), ()));
    }
}
