//! The thread of a client, which opens one session after another and runs the tasks that belong to them.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::FutureExt;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::error::{LockError, Phase};
use crate::events::Source;
use crate::path::NodePath;
use crate::session::fault::Fault;
use crate::session::{CLOSE_WITHIN, Health, OpenError, Session};
use crate::tasks::{Tasks, panics};
use crate::tick::Memory;

use super::settings::Settings;

mod counts;
mod pauses;

use self::pauses::Pauses;

/// The state that the tasks and handles of one client share.
pub(crate) struct Worker {
    settings: Settings,
    /// The data of this client's contenders, to which each of them has a pointer of one word.
    identity: Arc<Vec<u8>>,
    current: watch::Sender<Current>,
    tasks: Tasks,
    events: Source,
    #[cfg(feature = "metrics")]
    reports: std::sync::OnceLock<std::sync::mpsc::Sender<std::sync::mpsc::Sender<()>>>,
    memory: Memory,
    /// Cancelled when no new acquisitions are accepted.
    closing: CancellationToken,
    /// Cancelled when the client no longer waits for guards.
    stopping: CancellationToken,
    /// Cancelled when the thread ends, after it has closed the session.
    done: CancellationToken,
}

/// The reason why requests have no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// No answer came within the bound.
    InTime,
    /// The client's thread has ended.
    Ended,
    /// The task that performed the requests has panicked.
    Panicked,
    /// This process is a fork of the client's.
    Forked,
}

impl Unanswered {
    /// Returns the error of requests about the lock at `path`.
    pub(crate) fn into_error(self, path: &NodePath, waited: Duration) -> LockError {
        let path = path.relative().to_owned();
        match self {
            Self::InTime => LockError::Timeout { path, waited, phase: Phase::Requesting, holder: None },
            Self::Ended => LockError::Closed { path },
            Self::Panicked => {
                LockError::OutcomeUnknown { path, reason: "the task of the call panicked".into() }
            }
            Self::Forked => LockError::Forked { path },
        }
    }
}

/// The state of the client's session.
#[derive(Clone)]
enum Current {
    /// No session is open; the error is that of the last attempt to open one, if any.
    Opening(Option<OpenError>),
    Open(Arc<Session>),
}

impl Worker {
    /// Starts the client's thread.
    pub(crate) fn start(settings: Settings) -> std::io::Result<Arc<Self>> {
        let (ready, started) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("zklock-session".into());
        thread.spawn(move || {
            let done = CancellationToken::new();
            // Dropped after the runtime, whose end stops the tasks that still wait for servers that do not
            // answer, and after the last report.
            let _done = done.clone().drop_guard();
            let runtime = match Builder::new_current_thread().enable_time().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(error))),
            };
            let worker = Arc::new(Self::new(settings, runtime.handle().clone(), done));
            if ready.send(Ok(worker.clone())).is_ok() {
                runtime.block_on(worker.supervise());
            }
            // The tasks that are left tell their ends to listeners, which need the worker for that.
            drop(runtime);
            worker.report();
        })?;
        started.recv().unwrap_or_else(|_| Err(std::io::Error::other("the session thread failed to start")))
    }

    pub(super) fn new(settings: Settings, runtime: Handle, done: CancellationToken) -> Self {
        Self {
            identity: Arc::new(settings.identity.as_bytes().to_vec()),
            tasks: Tasks::new(runtime, settings.default_wait),
            settings,
            current: watch::Sender::new(Current::Opening(None)),
            events: Source::new(),
            #[cfg(feature = "metrics")]
            reports: std::sync::OnceLock::new(),
            memory: Memory::default(),
            closing: CancellationToken::new(),
            stopping: CancellationToken::new(),
            done,
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn root(&self) -> &str {
        &self.settings.root
    }

    pub(crate) fn default_wait(&self) -> Duration {
        self.settings.default_wait
    }

    /// The data of this client's contenders.
    pub(crate) fn identity(&self) -> Arc<Vec<u8>> {
        self.identity.clone()
    }

    /// The memory of the periods that are known not to be over.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns whether no new acquisitions are accepted.
    pub(crate) fn is_closing(&self) -> bool {
        self.tasks.is_forked() || self.closing.is_cancelled()
    }

    /// Returns the error of calls about the lock at `path` that are not accepted, or whose task is gone.
    pub(crate) fn closed(&self, path: &NodePath) -> LockError {
        self.gone().into_error(path, Duration::ZERO)
    }

    /// Returns why there is no task that answers.
    fn gone(&self) -> Unanswered {
        match () {
            () if self.tasks.is_forked() => Unanswered::Forked,
            () if self.closing.is_cancelled() => Unanswered::Ended,
            () => Unanswered::Panicked,
        }
    }

    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Runs a task on the client's thread. The task is dropped at once if the thread has ended.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Performs requests on the client's thread for up to `within`, even if the caller stops waiting for
    /// them.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        within: Duration,
        requests: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Unanswered> {
        let (reply, answer) = oneshot::channel();
        self.spawn(async move {
            reply.send(timeout(within, requests).await).ok();
        });
        match answer.await {
            Ok(in_time) => in_time.map_err(|_| Unanswered::InTime),
            Err(_) => Err(self.gone()),
        }
    }

    /// Waits on the client's thread, independently of the caller's runtime, for as long as the caller waits.
    pub(crate) async fn pause(&self, wait: Duration) {
        let (mut reply, elapsed) = oneshot::channel();
        self.spawn(async move {
            timeout(wait, reply.closed()).await.ok();
            reply.send(()).ok();
        });
        elapsed.await.ok();
    }

    /// Asks the servers about `path`, in the current session or the next one.
    pub(crate) async fn ask<T, R>(
        self: &Arc<Self>,
        path: &NodePath,
        request: impl FnOnce(Arc<Session>) -> R + Send + 'static,
    ) -> Result<T, LockError>
    where
        T: Send + 'static,
        R: Future<Output = Result<T, Fault>> + Send,
    {
        let (worker, about, within) = (self.clone(), path.clone(), self.default_wait());
        let asked = async move {
            let session = worker.session(&about, worker.closing()).await?;
            request(session).await.map_err(|fault| fault.into_error(about.relative()))
        };
        let answer = self.call(within, asked).await;
        answer.unwrap_or_else(|unanswered| Err(unanswered.into_error(path, within)))
    }

    pub(crate) fn health(&self) -> Health {
        self.current_session().map_or(Health::Lost, |session| session.link().health)
    }

    /// Returns the last failure to open a session, while none is open.
    pub(crate) fn failure(&self) -> Option<String> {
        match &*self.current.borrow() {
            Current::Opening(error) => error.as_ref().map(ToString::to_string),
            Current::Open(_) => None,
        }
    }

    pub(crate) fn current_session(&self) -> Option<Arc<Session>> {
        if self.tasks.is_forked() {
            return None;
        }
        match &*self.current.borrow() {
            Current::Open(session) if !session.is_over() => Some(session.clone()),
            _ => None,
        }
    }

    /// Waits for an open session, on the client's thread.
    pub(crate) async fn session(
        &self,
        path: &NodePath,
        cancel: &CancellationToken,
    ) -> Result<Arc<Session>, LockError> {
        let mut current = self.current.subscribe();
        let ready = current.wait_for(|current| match current {
            Current::Open(session) => !session.is_over(),
            Current::Opening(Some(error)) => error.is_final(),
            Current::Opening(None) => false,
        });
        let ready = cancel.run_until_cancelled(ready).await;
        match ready.and_then(Result::ok).as_deref() {
            Some(Current::Open(session)) => Ok(session.clone()),
            Some(Current::Opening(Some(error))) => Err(self.settings.opening.failure(error, Duration::ZERO)),
            Some(Current::Opening(None)) | None => {
                Err(LockError::Closed { path: path.relative().to_owned() })
            }
        }
    }

    /// Waits until the first session is open, for at most `within`.
    pub(crate) async fn connected(&self, within: Duration) -> Result<(), LockError> {
        let mut current = self.current.subscribe();
        let settled = async move {
            let settled = current.wait_for(|current| match current {
                Current::Open(_) => true,
                Current::Opening(error) => error.as_ref().is_some_and(OpenError::is_final),
            });
            settled.await.map(drop).ok();
        };
        self.call(within, settled).await.ok();
        match &*self.current.borrow() {
            Current::Open(_) => Ok(()),
            Current::Opening(Some(error)) => Err(self.settings.opening.failure(error, within)),
            Current::Opening(None) => Err(self
                .settings
                .opening
                .failure(&OpenError::Unreachable("no server answered".into()), within)),
        }
    }

    /// Stops the client without waiting for guards.
    pub(crate) fn stop(&self) {
        if self.tasks.is_forked() {
            return;
        }
        self.closing.cancel();
        self.stopping.cancel();
    }

    pub(crate) async fn shutdown(self: &Arc<Self>, grace: Duration) {
        if self.tasks.is_forked() {
            return;
        }
        self.closing.cancel();
        let worker = self.clone();
        let stopping = self.stopping.clone();
        // Not a tracked task, because it waits for the tracked tasks.
        let waits = self.tasks.runtime().spawn(async move {
            timeout(grace, worker.tasks.finished()).await.ok();
            worker.stop();
        });
        // If the thread has already ended, it has dropped the task.
        if waits.await.is_err() {
            stopping.cancel();
        }
        self.done.cancelled().await;
    }

    /// Opens one session after another until the client is stopped, and closes the last one.
    async fn supervise(&self) {
        let mut pauses = Pauses::default();
        while !self.stopping.is_cancelled() {
            let mut pause = Duration::ZERO;
            if panics(async { pause = self.open(&mut pauses).await }).await {
                pause = pauses.after_failure();
                panics(self.close_after_panic()).await;
            }
            self.stopping.run_until_cancelled(sleep(pause)).await;
        }
    }

    /// Opens a session, and waits until it is over. Returns the pause before the next one.
    async fn open(&self, pauses: &mut Pauses) -> Duration {
        // Panics of tasks that an earlier session has had say nothing about the next one.
        self.tasks.panicked().now_or_never();
        match self.stopping.run_until_cancelled(self.opened()).await {
            Some(Ok(session)) => {
                let since = Instant::now();
                self.current.send_replace(Current::Open(session.clone()));
                self.follow(&session).await;
                self.current.send_replace(Current::Opening(None));
                pauses.after_end(since.elapsed())
            }
            Some(Err(error)) => {
                self.tell_failure(error);
                pauses.after_failure()
            }
            None => Duration::ZERO,
        }
    }

    async fn close_after_panic(&self) {
        if let Some(session) = self.current_session() {
            session.close_after_panic().await;
        }
    }

    /// Opens a session. Tells the reason if that takes long.
    async fn opened(&self) -> Result<Arc<Session>, OpenError> {
        let opening = &self.settings.opening;
        let mut opened = pin!(opening.open());
        tokio::select! {
            biased;
            opened = &mut opened => return opened,
            reason = opening.reason_of_delay() => self.tell_failure(reason),
        }
        opened.await
    }

    fn tell_failure(&self, error: OpenError) {
        tracing::warn!(%error, servers = self.settings.opening.servers, "cannot open a session");
        self.current.send_replace(Current::Opening(Some(error)));
    }

    /// Waits until the session is over. Closes it if the client is stopped.
    async fn follow(&self, session: &Session) {
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => session.close(CLOSE_WITHIN).await,
            () = session.over() => {}
            () = self.tasks.panicked() => session.close_after_panic().await,
        }
    }
}
