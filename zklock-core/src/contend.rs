//! One contender for a lock or for permits, which is the only way to a lease.
//!
//! 1. A contender runs on the client's own thread. It waits for a session, and enters its queue there with an ephemeral node.
//! 2. It begins a lease once it is at the head of its queue, as the present connection and the lease clock show.
//! 3. If the session ends first, its node ends with it. It enters again at the tail, in the next session.
//! 4. A contender that is not to wait leaves if others are in front.
//! 5. One that is to take permits passes the gate of the semaphore, which is a mutex. Behind it, it creates one node after the
//!    other in a second queue. The gate stays closed until it has all of its permits.
//! 6. Behind the gate, it checks that other participants use the same number of permits.
//!
//! * [`request`]: what a contender is asked for, and one queue of it.
//! * [`permits`]: the permits of a semaphore, which take two queues.
//! * [`agreement`]: the number of permits that participants agree on.
//!
//! # Invariants
//!
//! 1. A contender ends with claims to all that it was asked for, or with none. Nodes that it does not need are withdrawn.
//! 2. It knows no deadline of its callers. Each wait for others ends with the cancellation, or with the session.
//! 3. It begins to take no more permits once its gate is lost, because another client may be behind it then.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::client::worker::Worker;
use crate::deadline::Contention;
use crate::path::NodePath;
use crate::queue::predicate::Predicate;
use crate::session::Session;
use crate::session::drive::{Driver, NotAcquired, Parameters, Progress};

mod agreement;
mod permits;
mod request;

use self::request::Request;

pub(crate) use self::request::{Claims, Contending, Contested, Count, Listener, Permits, Wanted};

/// Contends for the lock without a deadline. Returns `None` if others have it and the contender is not to wait. The future must
/// be polled on the client's thread. `listener` is told the progress.
///
/// Fails with [`LockError::Closed`](crate::LockError::Closed) once `cancel` is cancelled and the contender is withdrawn.
pub(crate) fn contend(
    cancel: &CancellationToken,
    worker: &Arc<Worker>,
    path: &NodePath,
    (wanted, contention): (Wanted, Contention),
    listener: Listener,
) -> Contending {
    let (worker, path, cancel) = (worker.clone(), path.clone(), cancel.clone());
    let request = Request { worker, path, wanted, contention, cancel, listener };
    Box::pin(async move { request.contend().await })
}

impl Request {
    /// Contends in one session after another, until the lock is acquired or the contender is cancelled.
    async fn contend(&self) -> Contested {
        loop {
            (self.listener)(Progress::Connecting);
            let session = self.worker.session(&self.path, &self.cancel).await?;
            (self.listener)(Progress::Entering);
            match self.take(session).await {
                Ok(claims) => return Ok(Some(claims)),
                Err(NotAcquired::Contended) => return Ok(None),
                Err(NotAcquired::Refused(error)) => return Err(error),
                // The next session enters the queue at its tail. A contender that is cancelled gets none.
                Err(NotAcquired::Cancelled | NotAcquired::SessionLost) => {}
            }
        }
    }

    /// Contends within one session.
    async fn take(&self, session: Arc<Session>) -> Result<Claims, NotAcquired> {
        let (place, data) = match &self.wanted {
            // Boxed, because it is much larger than the others, which are the most.
            Wanted::Permits(wanted) => return Box::pin(permits::contend(self, &session, wanted)).await,
            Wanted::Place(place) => (place, self.worker.settings.identity.clone()),
            Wanted::Candidacy { place, identity } => (place, identity.clone()),
        };
        let predicate = Predicate::Place(place.clone());
        let parameters = Parameters { data, ..self.parameters(self.path.clone(), predicate) };
        Ok(vec![self.drive(Driver::new(session, parameters), &self.cancel).await?])
    }
}
