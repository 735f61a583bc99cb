//! The thread of a client, which opens one session after another and runs the tasks that belong to them.

use std::future::{Future, pending};
use std::sync::Arc;
#[cfg(feature = "metrics")]
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use futures_lite::future::or;
use futures_util::future::FutureExt;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::connection::OpenError;
use crate::error::{LockError, Phase};
use crate::events::{EventSender, Events};
use crate::last_start::PeriodCache;
#[cfg(feature = "metrics")]
use crate::metrics::{LeaseGauges, Reports, SessionGauges};
use crate::path::NodePath;
use crate::session::counts::Tally;
use crate::session::request_error::RequestError;
use crate::session::{CLOSE_WITHIN, Health, Session};
use crate::tasks::{Tasks, panics};
use crate::time::{Elapsed, sleep, timeout};

use super::settings::Settings;

/// The state that the tasks and handles of one client share.
pub(crate) struct Worker {
    pub(crate) settings: Settings,
    current: watch::Sender<Current>,
    /// The tasks on the client's thread.
    pub(crate) tasks: Tasks,
    events: EventSender,
    #[cfg(feature = "metrics")]
    reports: OnceLock<Reports>,
    /// The periods that are known not to be over.
    pub(crate) periods: PeriodCache,
    /// Cancelled when no new acquisitions are accepted.
    pub(crate) closing: CancellationToken,
    /// Cancelled when the client no longer waits for guards.
    stopping: CancellationToken,
    /// Cancelled when the thread ends, after it has closed the session.
    done: CancellationToken,
}

/// The state of the client's session.
#[derive(Clone)]
enum Current {
    /// No session is open; the error is that of the last attempt to open one, if any.
    Connecting(Option<OpenError>),
    Open(Arc<Session>),
}

impl Worker {
    /// Starts the client's thread.
    pub(crate) fn start(settings: Settings) -> std::io::Result<Arc<Self>> {
        let worker = Arc::new(Self::new(settings));
        let (own, thread) = (worker.clone(), std::thread::Builder::new().name("zklock-session".into()));
        thread.spawn(move || {
            // Dropped last: after the tasks, some of which may still wait for servers that do not answer, the last report,
            // and the thread's own handle on the worker.
            let _done = own.done.clone().drop_guard();
            let worker = own;
            let supervisor = worker.clone();
            worker.tasks.run_until(async move { supervisor.supervise().await });
            #[cfg(feature = "metrics")]
            if let Some(reports) = worker.reports.get() {
                reports.finish();
            }
        })?;
        #[cfg(feature = "metrics")]
        worker.start_reports();
        Ok(worker)
    }

    #[cfg(feature = "metrics")]
    fn start_reports(self: &Arc<Self>) {
        let (counters, tally) = (self.events.counters().clone(), self.settings.opening.tally.clone());
        let worker = Arc::downgrade(self);
        let gauges = move || worker.upgrade().map(|worker| worker.gauges());
        if let Some(reports) = Reports::start(counters, tally, &self.settings.root, gauges) {
            self.reports.set(reports).ok();
        }
    }

    #[cfg(feature = "metrics")]
    fn gauges(&self) -> SessionGauges {
        let session = self.current_session();
        let node_bytes = session.as_ref().map_or(0, |session| session.bounds().bytes());
        let lease = session.filter(|session| session.is_attended()).map(|session| {
            let (clock, terms) = (session.clock(), session.clock().terms());
            LeaseGauges { remaining: clock.remaining(), full: terms.term(terms.heartbeat_kind) }
        });
        SessionGauges { health: self.health(), node_bytes, lease }
    }

    fn new(settings: Settings) -> Self {
        Self {
            settings,
            current: watch::Sender::new(Current::Connecting(None)),
            tasks: Tasks::new(),
            events: EventSender::new(),
            #[cfg(feature = "metrics")]
            reports: OnceLock::new(),
            periods: PeriodCache::default(),
            closing: CancellationToken::new(),
            stopping: CancellationToken::new(),
            done: CancellationToken::new(),
        }
    }

    pub(crate) fn root(&self) -> &str {
        &self.settings.root
    }

    pub(crate) fn default_wait(&self) -> Duration {
        self.settings.default_wait
    }

    /// Returns the events from now on. A fork has none: another thread of the parent may have had the mutex of the channel.
    pub(crate) fn listen(&self) -> Events {
        if self.tasks.is_forked() { EventSender::new().listen() } else { self.events.listen() }
    }

    /// Returns the sender of events, or `None` if nobody listens and nothing is counted.
    pub(crate) fn events(&self) -> Option<EventSender> {
        (self.is_heard() || cfg!(feature = "metrics")).then(|| self.events.clone())
    }

    /// Returns whether there are listeners.
    pub(crate) fn is_heard(&self) -> bool {
        self.events.is_heard()
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.settings.opening.tally
    }

    /// Returns whether no new acquisitions are accepted.
    pub(crate) fn is_closing(&self) -> bool {
        self.tasks.is_forked() || self.closing.is_cancelled()
    }

    /// Fails if this process is a fork, where another thread of the parent may have had a mutex.
    pub(crate) fn check_process(&self, path: &NodePath) -> Result<(), LockError> {
        if self.tasks.is_forked() { Err(self.closed(path)) } else { Ok(()) }
    }

    /// Returns the error of calls about the lock at `path` that are not accepted, or whose task is gone.
    pub(crate) fn closed(&self, path: &NodePath) -> LockError {
        let path = path.relative().to_owned();
        if self.tasks.is_forked() {
            LockError::Forked { path }
        } else if self.closing.is_cancelled() {
            LockError::Closed { path }
        } else {
            LockError::OutcomeUnknown { path, reason: "the task of the call panicked".into() }
        }
    }

    /// Performs requests about `path` on the client's thread for up to `within`, even if the caller stops waiting for
    /// them.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        path: &NodePath,
        within: Duration,
        requests: impl Future<Output = Result<T, LockError>> + Send + 'static,
    ) -> Result<T, LockError> {
        let (reply, answer) = oneshot::channel();
        self.tasks.spawn(async move {
            reply.send(timeout(within, requests).await).ok();
        });
        answer.await.map_err(|_| self.closed(path))?.unwrap_or_else(|Elapsed| {
            let (path, phase) = (path.to_string(), Phase::Requesting);
            Err(LockError::Timeout { path, waited: within, phase, holder: None })
        })
    }

    /// Asks the servers about `path`, in the current session or the next one.
    pub(crate) async fn ask<T, R>(
        self: &Arc<Self>,
        path: &NodePath,
        request: impl FnOnce(Arc<Session>) -> R + Send + 'static,
    ) -> Result<T, LockError>
    where
        T: Send + 'static,
        R: Future<Output = Result<T, RequestError>> + Send,
    {
        let (worker, about) = (self.clone(), path.clone());
        let asked = async move {
            let session = worker.session(&about, &worker.closing).await?;
            request(session).await.map_err(|error| error.into_error(about.relative()))
        };
        self.call(path, self.default_wait(), asked).await
    }

    /// Asks the servers about `path`, in one session after another until they answer.
    pub(crate) async fn ask_until_answered<T, R>(
        self: &Arc<Self>,
        path: &NodePath,
        request: impl Fn(Arc<Session>) -> R + Send + 'static,
    ) -> Result<T, LockError>
    where
        T: Send + 'static,
        R: Future<Output = Result<T, LockError>> + Send,
    {
        let (worker, about) = (self.clone(), path.clone());
        let asked = async move {
            loop {
                let session = worker.session(&about, &worker.closing).await?;
                match request(session).await {
                    Err(LockError::OutcomeUnknown { .. }) => sleep(UNANSWERED_PAUSE).await,
                    answer => return answer,
                }
            }
        };
        // Dropped with the caller's future, because nobody needs the answer then.
        let (_awaited, gone) = oneshot::channel::<()>();
        let closed = self.closed(path);
        self.call(path, self.default_wait(), or(asked, gone.map(|_| Err(closed)))).await
    }

    pub(crate) fn health(&self) -> Health {
        self.current_session().map_or(Health::Lost, |session| session.link().health)
    }

    /// Returns the last failure to open a session, while none is open.
    pub(crate) fn failure(&self) -> Option<String> {
        match &*self.current.borrow() {
            Current::Connecting(error) => error.as_ref().map(ToString::to_string),
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
        match cancel.run_until_cancelled(self.settled()).await {
            Some(Current::Open(session)) => Ok(session),
            Some(Current::Connecting(Some(error))) => {
                Err(self.settings.opening.failure(&error, Duration::ZERO))
            }
            Some(Current::Connecting(None)) | None => {
                Err(LockError::Closed { path: path.relative().to_owned() })
            }
        }
    }

    /// Waits until a session is open, or a failure to open one is final.
    async fn settled(&self) -> Current {
        let mut current = self.current.subscribe();
        let is_settled = |current: &Current| match current {
            Current::Open(session) => !session.is_over(),
            Current::Connecting(error) => error.as_ref().is_some_and(OpenError::is_final),
        };
        current.wait_for(is_settled).await.map_or(Current::Connecting(None), |settled| settled.clone())
    }

    /// Waits until a session is open, for at most `within`.
    pub(crate) async fn connected(&self, within: Duration) -> Result<(), LockError> {
        let settled = timeout(within, self.settled()).await;
        let error = match settled.unwrap_or_else(|Elapsed| self.current.borrow().clone()) {
            Current::Open(_) => return Ok(()),
            Current::Connecting(Some(error)) => error,
            Current::Connecting(None) => OpenError::Unreachable("no server answered".into()),
        };
        Err(self.settings.opening.failure(&error, within))
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
        self.tasks.spawn_untracked(async move {
            timeout(grace, worker.tasks.finished()).await.ok();
            worker.stop();
        });
        self.done.cancelled().await;
    }

    /// Opens one session after another until the client is stopped, and closes the last one.
    async fn supervise(&self) {
        let mut backoff = Backoff::new(SHORTEST_PAUSE, LONGEST_PAUSE);
        while !self.stopping.is_cancelled() {
            let mut pause = Duration::ZERO;
            if panics(async { pause = self.open(&mut backoff).await }).await {
                pause = backoff.lengthen();
                if let Some(session) = self.current_session() {
                    panics(session.close_after_panic()).await;
                }
            }
            self.stopping.run_until_cancelled(sleep(pause)).await;
        }
    }

    /// Opens a session, and waits until it is over. Returns the pause before the next one.
    async fn open(&self, backoff: &mut Backoff) -> Duration {
        // Panics of tasks that an earlier session has had say nothing about the next one.
        self.tasks.panicked().now_or_never();
        match self.stopping.run_until_cancelled(self.opened()).await {
            Some(Ok(session)) => {
                let since = Instant::now();
                self.current.send_replace(Current::Open(session.clone()));
                self.follow(&session).await;
                let open_for = since.elapsed();
                self.note_end(open_for);
                pause_after_session(open_for, backoff)
            }
            Some(Err(error)) => {
                self.tell_failure(error);
                backoff.lengthen()
            }
            None => Duration::ZERO,
        }
    }

    /// Opens a session. Tells the reason if that takes long.
    async fn opened(&self) -> Result<Arc<Session>, OpenError> {
        let opening = &self.settings.opening;
        let delayed = async {
            self.tell_failure(opening.reason_of_delay().await);
            pending().await
        };
        or(opening.open(&self.tasks), delayed).await
    }

    /// Takes note that a session has ended that was open for this time.
    fn note_end(&self, open_for: Duration) {
        let is_failure = open_for <= LONGEST_PAUSE && !self.stopping.is_cancelled();
        let reason = || OpenError::Unreachable("the session ended as soon as it was open".into());
        self.current.send_replace(Current::Connecting(is_failure.then(reason)));
    }

    /// Takes note of a failure. It is logged, but not again while the reason stays the same.
    fn tell_failure(&self, error: OpenError) {
        let servers = &self.settings.opening.servers;
        let before = self.current.send_replace(Current::Connecting(Some(error.clone())));
        match before {
            Current::Connecting(Some(before)) if before.to_string() == error.to_string() => {
                tracing::debug!(%error, servers, "cannot open a session");
            }
            _ => tracing::warn!(%error, servers, "cannot open a session"),
        }
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

/// Returns the pause after a session that was open for this time. One that ends as soon as it is opened counts as a
/// failure. After any other one, contenders enter their queues again when the next one is open.
fn pause_after_session(open_for: Duration, backoff: &mut Backoff) -> Duration {
    if open_for <= LONGEST_PAUSE {
        return backoff.lengthen();
    }
    backoff.reset();
    SPREAD.mul_f64(fastrand::f64())
}

/// The pauses after failures in a row, each up to twice as long as the one before.
///
/// They are up to a half shorter at random, because the clients of a fleet fail, and lose their sessions, together.
#[derive(Debug)]
pub(crate) struct Backoff {
    shortest: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(shortest: Duration, longest: Duration) -> Self {
        Self { shortest, longest, next: shortest }
    }

    /// Returns the pause after one more failure.
    pub(crate) fn lengthen(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause - pause.mul_f64(fastrand::f64() / 2.0)
    }

    /// Returns the pause after one more failure, of an attempt that lasted this long. One that lasted longer than any
    /// pause begins a new row.
    pub(crate) fn lengthen_after(&mut self, attempt: Duration) -> Duration {
        if attempt >= self.longest {
            self.reset();
        }
        self.lengthen()
    }

    /// Ends the row of failures.
    pub(crate) fn reset(&mut self) {
        self.next = self.shortest;
    }
}

/// The longest first pause after a session could not be opened.
const SHORTEST_PAUSE: Duration = Duration::from_millis(75);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// The pause after requests without an answer.
const UNANSWERED_PAUSE: Duration = Duration::from_millis(50);
/// The time over which the clients of a fleet, whose sessions have ended together, come back.
const SPREAD: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use crate::client::config::Config;

    use super::*;

    /// A session that has lasted.
    const LONG: Duration = Duration::from_secs(30);

    fn backoff() -> Backoff {
        Backoff::new(SHORTEST_PAUSE, LONGEST_PAUSE)
    }

    #[test]
    fn a_thousand_clients_whose_sessions_ended_together_come_back_over_a_tenth_of_a_second() {
        let mut tenths = [0; 10];
        for _ in 0..1_000 {
            let pause = pause_after_session(LONG, &mut backoff());
            // A pause of the whole time is possible, too.
            tenths[usize::try_from(pause.as_micros() / 10_000).unwrap().min(9)] += 1;
        }
        // A hundred are expected in each. The chance of another outcome is below one in a billion.
        assert!(tenths.iter().all(|count| (40..=180).contains(count)), "{tenths:?}");
    }

    #[test]
    fn pauses_after_failures_double_up_to_a_limit_and_are_half_random() {
        let (mut backoff, mut whole) = (backoff(), SHORTEST_PAUSE);
        for _ in 0..20 {
            let pause = backoff.lengthen();
            assert!(whole / 2 <= pause && pause <= whole, "{pause:?} of {whole:?}");
            whole = (whole * 2).min(LONGEST_PAUSE);
        }
        assert_eq!(whole, LONGEST_PAUSE);
    }

    #[test]
    fn a_success_and_an_attempt_that_lasted_end_the_row_of_failures() {
        let mut backoff = backoff();
        let _row: Vec<_> = (0..10).map(|_| backoff.lengthen()).collect();
        assert!(pause_after_session(LONG, &mut backoff) <= SPREAD);
        assert!(backoff.lengthen() <= SHORTEST_PAUSE);
        let _row: Vec<_> = (0..10).map(|_| backoff.lengthen_after(Duration::ZERO)).collect();
        assert!(backoff.lengthen_after(LONGEST_PAUSE) <= SHORTEST_PAUSE);
    }

    #[test]
    fn a_client_whose_first_session_ended_at_once_tells_that_as_the_reason() {
        let worker = Worker::new(Config::new("127.0.0.1:1").validated().unwrap());
        let reason_after = |open_for| {
            worker.note_end(open_for);
            worker.failure()
        };
        assert_eq!(
            reason_after(Duration::from_millis(1)).as_deref(),
            Some("the session ended as soon as it was open")
        );
        assert_eq!(reason_after(LONG), None);
        worker.stop();
        assert_eq!(reason_after(Duration::from_millis(1)), None);
    }

    #[test]
    fn sessions_that_end_as_soon_as_they_are_opened_are_opened_at_the_pace_of_failures() {
        let mut backoff = backoff();
        let pauses: Vec<_> =
            (0..20).map(|_| pause_after_session(Duration::from_millis(1), &mut backoff)).collect();
        assert!(pauses[0] <= SHORTEST_PAUSE);
        assert!(pauses[19] >= LONGEST_PAUSE / 2, "{pauses:?}");
    }
}
