//! A held mutex.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use crate::acquire::Patience;
use crate::client::worker::Unanswered;
use crate::error::{LockError, Refusal};
use crate::hold::{self, Hold};
use crate::lease::{FencingToken, LeaseState, LossReason};
use crate::path::NodePath;
use crate::session::drive::Contention;
use crate::session::fault::Fault;
use crate::session::ops::Write;

/// A held lock. Dropping it releases the lock in the background.
///
/// The drop neither blocks nor needs a runtime; [`release`](Self::release) waits for the release and
/// reports it. A guard that is leaked keeps the lock until its session ends.
#[must_use = "if unused the lock is released immediately"]
#[clippy::has_significant_drop]
pub struct MutexGuard {
    hold: Arc<Hold>,
}

impl MutexGuard {
    pub(crate) fn new(hold: Arc<Hold>) -> Self {
        Self { hold }
    }

    /// The lock's path below the client's namespace.
    pub fn path(&self) -> &str {
        self.hold.tenure().path().relative()
    }

    /// The number by which a resource tells this holder from older ones.
    ///
    /// It is the same for all entries of one logical call.
    pub fn fencing_token(&self) -> FencingToken {
        self.hold.tenure().token()
    }

    /// Tells whether the lock is held at this instant, by the lease clock and without a request.
    ///
    /// The answer may be outdated when it is used: a process can be paused at any point. While the
    /// connection is broken the answer is `false`; see [`state`](Self::state).
    pub fn is_held(&self) -> bool {
        self.state() == LeaseState::Held
    }

    /// What may be believed of the lock at this instant, without a request.
    pub fn state(&self) -> LeaseState {
        self.hold.tenure().state()
    }

    /// Asks the servers whether the lock is still held: one round trip.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if it is not, [`LockError::Timeout`] if they do not answer within the client's
    /// default wait.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn verify(&self) -> Result<(), LockError> {
        self.hold.tenure().check()?;
        let client = self.hold.client();
        let patience = Patience::new(client.default_wait(), Contention::Wait);
        hold::confirm(client, self.hold.tenure(), patience).await
    }

    /// Waits until the lock is lost, and says why; pending for ever while it is held.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; a loss is told to everyone who asks, also later.
    pub async fn lost(&self) -> LossReason {
        self.hold.tenure().lost().await
    }

    /// Runs a future in which this lock is entered again without a request.
    ///
    /// The future goes on when the lock is lost; [`run`](Self::run) does not let it.
    ///
    /// # Cancel safety
    ///
    /// That of the future.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        self.hold.scope(future)
    }

    /// Runs a future in which this lock is entered again, and drops it if the lock is lost.
    ///
    /// The lease is checked whenever the future is about to go on, so that after a pause of the process no
    /// step of it runs under a lost lock.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`]; `Ok` means that the lock was held until the future ended.
    ///
    /// # Cancel safety
    ///
    /// That of the future, which is dropped where it is.
    pub fn run<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, F> {
        let tenure = self.hold.tenure();
        // Boxed, so that the futures of locked calls that are nested do not multiply in size.
        let future = Box::pin(self.hold.scope(future));
        run_while(|| tenure.check(), tenure.lost(), future)
    }

    /// Replaces the data of the node at `path`, if and only if the lock is held then.
    ///
    /// The server checks this guard's own node in the same transaction, so a holder that lost the lock
    /// without knowing cannot write. `path` is below the client's namespace, and the data is shorter than
    /// a million bytes.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`]: not applied.
    /// * [`LockError::Refused`], [`LockError::Denied`], [`LockError::InvalidPath`]: not applied.
    /// * [`LockError::OutcomeUnknown`]: the connection broke, or no answer came within the client's
    ///   default wait; applied or not, and only while the lock was held.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn set_data(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.write(path, Write::SetData(data.into())).await
    }

    /// Creates a persistent node at `path`, if and only if the lock is held then.
    ///
    /// # Errors
    ///
    /// Those of [`set_data`](Self::set_data); [`Refusal::NodeExists`], or [`Refusal::NoNode`] for a missing
    /// parent.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn create(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.write(path, Write::Create(data.into())).await
    }

    /// Deletes the node at `path`, if and only if the lock is held then.
    ///
    /// # Errors
    ///
    /// Those of [`set_data`](Self::set_data); [`Refusal::NoNode`], or [`Refusal::NotEmpty`] for a node with
    /// children.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn delete(&self, path: &str) -> Result<(), LockError> {
        self.write(path, Write::Delete).await
    }

    /// Releases the lock and waits until the server has done it.
    ///
    /// If this call holds the lock more than once, only the last release frees it.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock had been lost before.
    /// * [`LockError::Timeout`] if the server does not answer within the client's default wait; the release
    ///   goes on in the background.
    /// * [`LockError::Denied`], [`LockError::Refused`] if the server does not let this client delete its own
    ///   node; the lock stays taken until the session ends.
    ///
    /// # Cancel safety
    ///
    /// The release goes on in the background.
    pub async fn release(self) -> Result<(), LockError> {
        match Arc::try_unwrap(self.hold) {
            Ok(hold) => hold.release().await,
            // A call inside is just entering; it ends the hold when it is done.
            Err(shared) => shared.tenure().check(),
        }
    }

    /// Releases the lock at the end of a body, whose result a failed release must not replace.
    #[doc(hidden)]
    pub async fn finish(self) {
        let path = self.path().to_owned();
        if let Err(error) = self.release().await {
            tracing::warn!(path, %error, "release failed");
        }
    }

    async fn write(&self, path: &str, write: Write) -> Result<(), LockError> {
        let client = self.hold.client();
        let target = NodePath::new(client.worker().root(), path)?;
        let tenure = self.hold.tenure().clone();
        tenure.check()?;
        write.check_size(path)?;
        let within = client.default_wait();
        let (full, asked) = (target.full().to_owned(), tenure.clone());
        let request = async move { asked.session().ops().guarded(asked.node(), &full, &write).await };
        match client.worker().call(within, request).await {
            Ok(Ok(Some(()))) => Ok(()),
            Ok(Ok(None)) => Err(tenure.lost_error(tenure.lose(LossReason::NodeDeleted))),
            Ok(Err(fault)) => Err(fault.into_error(path)),
            Err(Unanswered::InTime) => {
                Err(Fault::Unknown(format!("no answer within {within:?}")).into_error(path))
            }
            Err(Unanswered::Ended) => Err(Fault::SessionOver.into_error(path)),
        }
    }
}

/// Runs a future as long as `check` passes, which is asked before and after each of its steps; `woken` wakes
/// it up when the answer may have changed.
async fn run_while<T, L>(
    check: impl Fn() -> Result<(), LockError>,
    woken: impl Future<Output = L>,
    future: impl Future<Output = T>,
) -> Result<T, LockError> {
    let (mut woken, mut future) = (pin!(woken), pin!(future));
    let mut is_woken = false;
    poll_fn(|context| {
        is_woken = is_woken || woken.as_mut().poll(context).is_ready();
        if let Err(error) = check() {
            return Poll::Ready(Err(error));
        }
        match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(check().map(|()| value)),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

impl Write {
    /// Refuses data that the server would answer by closing the connection.
    fn check_size(&self, path: &str) -> Result<(), LockError> {
        match self {
            Self::SetData(data) | Self::Create(data) if data.len() >= LONGEST_DATA => {
                let reason = format!("{} bytes of data are too many", data.len());
                Err(LockError::Refused { path: path.to_owned(), refusal: Refusal::Other(reason) })
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for MutexGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutexGuard")
            .field("path", &self.path())
            .field("fencing_token", &self.fencing_token())
            .field("state", &self.state())
            .finish()
    }
}

/// Below the servers' default `jute.maxbuffer`.
const LONGEST_DATA: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;
    use std::task::{Context, Waker};

    use super::*;

    fn lost() -> LockError {
        LockError::Lost { path: "/a".into(), reason: LossReason::LeaseExpired }
    }

    #[test]
    fn a_body_takes_no_step_once_the_clock_ran_out_although_nobody_told_it() {
        let (is_held, steps) = (Cell::new(true), Cell::new(0));
        let check = || if is_held.get() { Ok(()) } else { Err(lost()) };
        let body = poll_fn(|_| {
            steps.set(steps.get() + 1);
            Poll::<()>::Pending
        });
        let mut run = pin!(run_while(check, pending::<()>(), body));
        let mut context = Context::from_waker(Waker::noop());
        assert!(run.as_mut().poll(&mut context).is_pending());
        is_held.set(false);
        assert!(matches!(run.as_mut().poll(&mut context), Poll::Ready(Err(error)) if error.is_lost()));
        assert_eq!(steps.get(), 1);
    }

    #[test]
    fn a_body_that_ends_in_the_step_that_lost_the_lock_is_no_success() {
        let is_held = Cell::new(true);
        let check = || if is_held.get() { Ok(()) } else { Err(lost()) };
        let run = pin!(run_while(check, pending::<()>(), async { is_held.set(false) }));
        let outcome = run.poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(outcome, Poll::Ready(Err(error)) if error.is_lost()));
    }
}
