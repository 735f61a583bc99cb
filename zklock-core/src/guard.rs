//! The guard of a held lock: one type, whose parameter is the kind of lock. It runs bodies under the lock, takes no step of
//! them without it, and has the callbacks for requests to release it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures_util::future::select_all;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::change::Mutex;
use crate::client::Client;
use crate::deadline::{Contention, Deadline};
use crate::error::LockError;
use crate::held::Held;
use crate::hold::{self, Hold, LockRef};
use crate::lease::Lease;

/// A held lock. Dropping it releases the lock in the background.
///
/// Dropping the guard neither blocks nor needs a runtime. [`release`](Self::release) waits for the release
/// and returns its outcome. A leaked guard keeps the lock until its session ends.
///
/// It dereferences to [`Held`], which has its path and token, and the writes and reads under it.
///
/// `K` is the kind of lock: see [`MutexGuard`](crate::MutexGuard), [`ReadGuard`](crate::ReadGuard),
/// [`WriteGuard`](crate::WriteGuard), [`SemaphoreGuard`](crate::SemaphoreGuard) and
/// [`MultiGuard`](crate::MultiGuard). Guards of the last two kinds can have several nodes; such a guard is
/// held while all of its nodes are.
#[must_use = "an unused guard releases the lock at once: bind it to a name such as `_guard`, and not to `_`"]
#[clippy::has_significant_drop]
pub struct Guard<K> {
    /// Dropped before the holds, so that none is begun behind the release.
    callbacks: Callbacks,
    /// One hold for each node; at least one.
    holds: Vec<Hold>,
    held: Held,
    kind: PhantomData<fn() -> K>,
}

impl<K> Guard<K> {
    pub(crate) fn new(holds: Vec<Hold>) -> Self {
        Self::with_callbacks(Callbacks::default(), holds)
    }

    fn with_callbacks(callbacks: Callbacks, holds: Vec<Hold>) -> Self {
        Self { callbacks, held: Held::of_holds(&holds), holds, kind: PhantomData }
    }

    /// Runs a future, inside which this lock can be entered again without a request.
    ///
    /// The future continues after the lock is lost; [`run`](Self::run) drops it instead.
    ///
    /// # Cancel safety
    ///
    /// The same as that of `future`.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F, K> {
        hold::scope(&self.holds, future)
    }

    /// Runs a future, inside which this lock can be entered again, and drops it if the lock is lost.
    ///
    /// The lease is checked before each poll of the future. Even after a pause of the process, no step of the
    /// future begins under a lost lock.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] as soon as a loss is known. The expiry of the session is known in time. If an outsider ends the
    /// session or deletes the node, that is known a moment later.
    ///
    /// # Cancel safety
    ///
    /// The same as that of `future`, which is dropped at its current await.
    pub fn run<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, F, K> {
        run_while(|| self.check(), self.lost(), hold::scope(&self.holds, future))
    }

    /// Runs a future to its end, even if the lock is lost meanwhile. Inside, this lock can be entered again.
    ///
    /// This is for work that must not be dropped halfway. After a loss, another client may hold the lock
    /// while the future still runs: the future can learn of the loss from [`lost`](crate::Held::lost), and guarded
    /// writes are refused. If the lock is already lost, the future is not started.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if a loss is known when the future ends. The expiry of the
    /// session is known in time. If an outsider ends the session or deletes the node, that is known a moment later.
    ///
    /// # Cancel safety
    ///
    /// The same as that of `future`, which is dropped at its current await. This also happens if a
    /// surrounding future is dropped, such as the body of [`run`](Self::run) under another lock that is lost.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn migrate() {}
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let guard = client.mutex("/migrations")?.lock().await?;
    /// guard.run_to_end(migrate()).await?;
    /// guard.release().await
    /// # }
    /// ```
    pub fn run_to_end<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, F, K> {
        let future = hold::scope(&self.holds, future);
        async move {
            self.check()?;
            let value = future.await;
            self.check().map(|()| value)
        }
    }

    /// Calls a function on the current thread. Inside, this lock can be entered again.
    ///
    /// This is [`run_to_end`](Self::run_to_end) for code that is not async: the function continues even if
    /// the lock is lost meanwhile.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if a loss is known when the function returns. The expiry of the
    /// session is known in time. If an outsider ends the session or deletes the node, that is known a moment later.
    pub fn run_blocking<T>(&self, function: impl FnOnce() -> T) -> Result<T, LockError> {
        hold::at_once(self.run_to_end(async { function() }))
    }

    /// Waits until another client asks this holder to release the lock.
    ///
    /// The future stays pending if none does. [`Client::revoke`] and Curator's `Revoker` ask in this way. It
    /// is only a request: the lock stays held until this holder releases it. The first call of this method or
    /// of [`on_revoke`](Self::on_revoke) makes the client watch the lock's node, which costs one request.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn revoked(&self) {
        self.watch_revocation();
        select_all(self.holds.iter().map(|hold| Box::pin(hold.lease().asked()))).await;
    }

    /// Calls `callback` on a new thread when another client asks this holder to release the lock.
    ///
    /// The callback is called at most once, and not after the guard is gone. If the guard ends at the moment of the
    /// request, the callback may run beside the release. A downgrade keeps the callback: a request to the reader calls
    /// it too. It may block, because it runs on its own thread. If it is not called, it is dropped with the guard. See
    /// [`revoked`](Self::revoked).
    pub fn on_revoke(&self, callback: impl FnOnce() + Send + 'static) {
        self.watch_revocation();
        let leases = self.holds.iter().map(|hold| hold.lease().clone()).collect();
        self.client().worker().tasks.spawn(self.callbacks.keep(Box::new(callback), leases));
    }

    /// Starts tasks that watch the nodes' data for a request to release, unless there are some already.
    fn watch_revocation(&self) {
        for lease in self.holds.iter().map(|hold| hold.lease()) {
            lease.watch_requests();
        }
    }

    /// Releases the lock, and waits until the servers have confirmed it, or another call of this client has the
    /// lock.
    ///
    /// If the logical call has entered the lock more than once, only the last release frees it and waits. An
    /// earlier one returns at once, and so does that of a reader while other calls of this client still read. The
    /// last writer waits until the readers inside of it share the lock. A guard of several nodes releases all of
    /// them, even if the release of one fails.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock was lost before.
    /// * [`LockError::Timeout`] if the server does not answer within the client's default wait; the release
    ///   continues in the background.
    /// * [`LockError::Denied`], [`LockError::Refused`] if the server does not let this client delete its own node;
    ///   the lock stays taken until the session ends. If it is only the change into a reader that is refused, the
    ///   lock stays exclusive until the readers inside have ended.
    ///
    /// If the release of several nodes fails, the first failure is returned and the others are logged.
    ///
    /// # Cancel safety
    ///
    /// The release continues in the background.
    pub async fn release(self) -> Result<(), LockError> {
        let within = self.client().default_wait();
        hold::released(hold::begin_release(self.into_holds()), within).await
    }

    /// Releases the lock after a body. A failure is only told to the listeners and logged, because it must not
    /// replace the body's result.
    #[doc(hidden)]
    pub async fn finish(self) {
        hold::finish(self.into_holds()).await;
    }

    pub(crate) fn client(&self) -> Client {
        self.holds[0].client()
    }

    pub(crate) fn holds(&self) -> &[Hold] {
        &self.holds
    }

    pub(crate) fn holds_mut(&mut self) -> &mut [Hold] {
        &mut self.holds
    }

    /// Returns a guard of another kind with the same holds and callbacks.
    #[doc(hidden)]
    pub fn into_kind<T>(self) -> Guard<T> {
        Guard::with_callbacks(self.callbacks, self.holds)
    }

    pub(crate) fn into_holds(self) -> Vec<Hold> {
        let Self { callbacks: _callbacks, holds, .. } = self;
        holds
    }
}

impl<K> Deref for Guard<K> {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

impl<K> fmt::Debug for Guard<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leases = self.holds.iter().map(|hold| (hold.lease().path().relative(), hold.token()));
        f.debug_struct("Guard")
            .field("held", &leases.collect::<Vec<_>>())
            .field("state", &self.state())
            .finish()
    }
}

/// Enters a lock, waiting for at most `wait`.
pub(crate) async fn enter<K>(lock: &LockRef, client: &Client, wait: Duration) -> Result<Guard<K>, LockError> {
    let deadline = Deadline::within(wait, lock.path.relative())?;
    let holds = hold::enter(client, lock, deadline, None).await?;
    // Not expected: only an attempt that does not wait returns `None`.
    holds.map(Guard::new).ok_or_else(|| lock.timeout(wait, None))
}

/// Enters a lock without waiting for other holders.
pub(crate) async fn try_enter<K>(lock: &LockRef, client: &Client) -> Result<Option<Guard<K>>, LockError> {
    let deadline = Deadline::new(client.default_wait(), Contention::Leave);
    Ok(hold::enter(client, lock, deadline, None).await?.map(Guard::new))
}

/// Enters a lock within `wait`. Without one, a contended lock is an error at once.
pub(crate) async fn take<K>(
    lock: &LockRef,
    client: &Client,
    wait: Option<Duration>,
) -> Result<Guard<K>, LockError> {
    match wait {
        Some(wait) => enter(lock, client, wait).await,
        None => try_enter(lock, client).await?.ok_or_else(|| lock.contended(client)),
    }
}

/// Takes a lock, runs `body` under it, and releases it.
pub(crate) async fn run<K, T>(
    taken: impl Future<Output = Result<Guard<K>, LockError>>,
    body: impl AsyncFnOnce(&Guard<K>) -> T,
) -> Result<T, LockError> {
    let guard = taken.await?;
    let value = guard.run(body(&guard)).await?;
    guard.finish().await;
    Ok(value)
}

/// Runs a future as long as `check` passes: it is called before each step, and after the last one. `lost` wakes the task when
/// the outcome of the check may have changed. The future is dropped before this returns.
pub(crate) async fn run_while<F: Future + Unpin>(
    check: impl Fn() -> Result<(), LockError>,
    lost: impl Future,
    mut body: F,
) -> Result<F::Output, LockError> {
    let (mut lost, mut is_told) = (pin!(lost), false);
    poll_fn(|context| {
        check()?;
        if let Poll::Ready(value) = Pin::new(&mut body).poll(context) {
            return Poll::Ready(check().map(|()| value));
        }
        if !is_told && lost.as_mut().poll(context).is_ready() {
            is_told = true;
            check()?;
        }
        Poll::Pending
    })
    .await
}

/// The callbacks of a guard. The guard owns them, or the thread that calls one, so that no thread of the client drops one.
#[derive(Default)]
struct Callbacks(Mutex<Vec<(Arc<Callback>, DropGuard)>>);

/// It is called at most once.
type Callback = Mutex<Option<Box<dyn FnOnce() + Send>>>;

impl Callbacks {
    /// Keeps a callback until the guard ends. Returns the task that has it called on a new thread when somebody asks for the
    /// release of one of these locks.
    fn keep(
        &self,
        callback: Box<dyn FnOnce() + Send>,
        leases: Vec<Arc<Lease>>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let callback: Arc<Callback> = Arc::new(Mutex::new(Some(callback)));
        let (called, ended) = (Arc::downgrade(&callback), CancellationToken::new());
        let kept = (callback, ended.clone().drop_guard());
        self.0.lock().push(kept);
        async move {
            // A request to any one of several nodes counts for all of them; their holds end together.
            let asked = select_all(leases.iter().map(|lease| Box::pin(lease.asked())));
            tokio::select! {
                biased;
                () = ended.cancelled() => return,
                _ = asked => {}
            }
            let call = move || {
                // The guard drops a callback whose thread comes too late.
                if let Some(callback) = called.upgrade().and_then(|callback| callback.lock().take()) {
                    callback();
                }
            };
            if let Err(error) = thread::Builder::new().name("zklock-revoked".into()).spawn(call) {
                tracing::warn!(%error, "cannot start the thread of a revocation callback");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;
    use std::rc::Rc;
    use std::sync::{Mutex, mpsc};
    use std::task::{Context, Waker};

    use crate::LockEventKind;
    use crate::client::connected;
    use crate::error::LossReason;

    use super::*;

    fn lost() -> LockError {
        LockError::Lost { path: "/a".into(), reason: LossReason::LeaseExpired }
    }

    #[test]
    fn a_body_takes_no_step_and_is_dropped_once_the_clock_ran_out_although_nobody_told_it() {
        let (is_held, steps, alive) = (Cell::new(true), Cell::new(0), Rc::new(()));
        let check = || if is_held.get() { Ok(()) } else { Err(lost()) };
        let kept = alive.clone();
        let body = async {
            let _kept = kept;
            poll_fn(|_| {
                steps.set(steps.get() + 1);
                Poll::<()>::Pending
            })
            .await;
        };
        let mut run = pin!(run_while(check, pending::<()>(), Box::pin(body)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(run.as_mut().poll(&mut context).is_pending());
        is_held.set(false);
        assert!(matches!(run.as_mut().poll(&mut context), Poll::Ready(Err(error)) if error.is_lost()));
        assert_eq!((steps.get(), Rc::strong_count(&alive)), (1, 1));
    }

    /// A value whose end takes until the end of a lock is told.
    #[derive(Default)]
    struct Slow(Mutex<Option<mpsc::Receiver<()>>>);

    impl Drop for Slow {
        fn drop(&mut self) {
            let told = self.0.get_mut().unwrap().take().unwrap();
            told.recv_timeout(Duration::from_secs(20)).expect("the end of the lock is told");
        }
    }

    #[tokio::test]
    async fn the_last_guard_that_outlives_its_client_is_released_and_not_lost() {
        let (_server, client) = connected().await;
        let mut events = client.events();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let (tell, told) = mpsc::channel();
        // The client drops this value after it has begun to close its session.
        let slow: &Slow = client.candidates().get_or_default();
        *slow.0.lock().unwrap() = Some(told);
        let listens = tokio::spawn(async move {
            let is_held =
                |kind: &LockEventKind| matches!(kind, LockEventKind::Begun | LockEventKind::Acquired { .. });
            let mut kind = LockEventKind::Begun;
            while is_held(&kind) {
                kind = events.next().await.expect("the client is there").kind;
            }
            tell.send(()).ok();
            kind
        });
        drop(client);
        thread::spawn(move || drop(guard));
        let end = listens.await.unwrap();
        assert!(matches!(end, LockEventKind::Released { .. }), "{end:?}");
    }
}
