//! The calls of one client at one lock, with the leases and the callers that belong to them.

use std::future::poll_fn;
use std::iter::{RepeatN, repeat_n};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use smallvec::SmallVec;
use tokio::sync::oneshot;

use crate::acquire::Leases;
use crate::client::worker::Worker;
use crate::error::{Holder, LockError, Phase};
use crate::events::Witness;
use crate::interleaving;
use crate::lease::writes::Writing;
use crate::lease::{Readiness, Stint, Tenure};
use crate::path::NodePath;

use super::call::Call;
use super::desk::Desk;
use super::grant::{Fate, Grant, Grants, Home, Place};
use super::key::Key;
use super::line::{Granted, Line, Rouse, Served};
use super::registry::{Entered, Entry};
use super::tenancy::{Handle, Look, Ready, TenancyId};

/// The calls of one client at one lock, or for a number of permits of one semaphore.
pub(super) struct Cohort {
    pub(super) worker: Arc<Worker>,
    line: Mutex<CallerLine>,
    /// Whether there may be calls in line that had no known place when they came, and were not told since.
    pub(super) has_untold: AtomicBool,
    entry: Entry<Key, Self>,
    attend: Attend,
}

/// Makes the task of a line.
pub(super) type Attend = fn(Arc<Cohort>) -> BoxFuture<'static, ()>;

/// The line of one client's calls.
pub(super) type CallerLine = Line<Caller, Leases, Desk>;

pub(super) type CallerServed = Served<Caller, Leases>;

/// A call that waits.
pub(super) struct Caller {
    pub(super) reply: oneshot::Sender<Answer>,
    /// The wait requested by the caller.
    pub(super) wait: Duration,
    /// The beginning of the wait.
    pub(super) since: Instant,
    /// `None` if nobody is to be told that it waits.
    pub(super) news: Option<Arc<News>>,
}

/// The news that a call waits in the queue, which its listeners get once.
pub(super) struct News {
    witness: Witness,
    is_told: AtomicBool,
}

impl News {
    /// Returns the news of a call, unless nobody listens.
    pub(super) fn of(witness: &Witness) -> Option<Arc<Self>> {
        witness
            .is_heard()
            .then(|| Arc::new(Self { witness: witness.clone(), is_told: AtomicBool::new(false) }))
    }

    pub(super) fn tell(&self, ahead: usize) {
        if !self.is_told.swap(true, Ordering::Relaxed) {
            self.witness.queued(ahead);
        }
    }
}

/// The answer to a call.
pub(super) enum Answer {
    Granted(Grants),
    Contended,
    /// Boxed, because each call that waits has room for an answer.
    Failed(Box<LockError>),
}

impl Cohort {
    pub(super) fn new(worker: &Arc<Worker>, entry: Entry<Key, Self>, attend: Attend) -> Self {
        let line = Mutex::new(Line::new(worker.settings().queueing, entry.key().kind()));
        Self { worker: worker.clone(), line, has_untold: AtomicBool::new(false), entry, attend }
    }

    pub(super) fn path(&self) -> &NodePath {
        self.entry.path()
    }

    pub(super) fn key(&self) -> &Key {
        self.entry.key()
    }

    /// Returns the number of calls that wait in line.
    pub(super) fn waiting(&self) -> usize {
        self.line().waiting()
    }

    /// Makes a change, and performs what follows from it.
    pub(super) fn change<T>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut CallerLine, Instant) -> (CallerServed, T),
    ) -> T {
        let (served, value) = change(&mut self.line(), Instant::now());
        self.deliver(served);
        match self.rouse() {
            (Rouse::Nobody | Rouse::Wake, task) => task.into_iter().for_each(Waker::wake),
            // Boxed, because Tokio aligns tasks in a way that keeps the C library from using the memory of a large one
            // for the next one.
            (Rouse::Start, _) => self.worker.spawn((self.attend)(self.clone())),
        }
        value
    }

    /// Tells whether the task has something to do, and returns the task if it is to be woken.
    fn rouse(&self) -> (Rouse, Option<Waker>) {
        let mut line = self.line();
        match line.rouse() {
            Rouse::Wake => (Rouse::Wake, line.desk_mut().and_then(Desk::ring)),
            rouse @ (Rouse::Nobody | Rouse::Start) => (rouse, None),
        }
    }

    /// Waits until the task is woken by a change.
    pub(super) async fn rung(&self) {
        poll_fn(|context| self.line().desk_mut().map_or(Poll::Pending, |desk| desk.poll_rung(context))).await;
    }

    /// Sends the grants to their callers. A grant whose caller is gone goes to the next one in line.
    pub(super) fn deliver(self: &Arc<Self>, mut served: CallerServed) {
        loop {
            // A node is deleted before another one is created, so that others are served meanwhile.
            drop(served.left);
            let vain: Vec<_> = served.grants.into_iter().filter_map(|granted| self.grant(granted)).collect();
            if vain.is_empty() {
                return;
            }
            let now = Instant::now();
            served = Served::default();
            for tenancy in vain.into_iter().flatten() {
                let more = self.line().given_back(tenancy, now);
                served.grants.extend(more.grants);
                served.left.extend(more.left);
            }
        }
    }

    /// Sends the grants of a call to its caller. If the caller is gone, returns the tenancy, once for each of its leases.
    fn grant(self: &Arc<Self>, granted: Granted<Caller, Leases>) -> Option<RepeatN<TenancyId>> {
        let Granted { call, lease: leases, tenancy, handoff } = granted;
        let place = || Place { home: self.clone(), tenancy };
        let grants: Grants = leases.into_iter().map(|lease| Grant::new(lease, handoff, place())).collect();
        let stints: SmallVec<[Stint; 1]> = grants.iter().map(|grant| grant.stint()).collect();
        match call.caller?.reply.send(Answer::Granted(grants)) {
            Err(Answer::Granted(grants)) => {
                grants.into_iter().for_each(Grant::undelivered);
                Some(repeat_n(tenancy, stints.len()))
            }
            Ok(()) | Err(_) => {
                stints.iter().for_each(Stint::succeed);
                None
            }
        }
    }

    /// Answers calls with an error.
    pub(super) fn fail(&self, calls: Vec<Call<Caller>>, error: impl Fn(&Self, Duration) -> LockError) {
        for caller in calls.into_iter().filter_map(|call| call.caller) {
            caller.reply.send(Answer::Failed(Box::new(error(self, caller.wait)))).ok();
        }
    }

    pub(super) fn closed(&self) -> LockError {
        self.worker.closed(self.path())
    }

    pub(super) fn timeout(&self, waited: Duration) -> LockError {
        let (phase, holder) = self.in_the_way();
        LockError::Timeout { path: self.path().relative().to_owned(), waited, phase, holder }
    }

    /// Returns the phase of the calls in line, and the contender in their way if it is known.
    pub(super) fn in_the_way(&self) -> (Phase, Option<Holder>) {
        let phase = match self.worker.current_session() {
            _ if self.line().is_queued() => Phase::Queued,
            Some(_) => Phase::Entering,
            None => Phase::Connecting,
        };
        (phase, if phase == Phase::Queued { self.holder() } else { None })
    }

    /// Takes note of the contender in front of this client's, or that it is not known.
    pub(super) fn meet(&self, holder: Option<Holder>) {
        // Without a task, no call waits to be told.
        if let Some(desk) = self.line().desk_mut() {
            desk.front = holder.map(Box::new);
        }
    }

    /// Returns the contender that calls in line wait for, if it is known.
    pub(super) fn holder(&self) -> Option<Holder> {
        let mut line = self.line();
        let front = line.desk_mut().and_then(|desk| desk.front.as_deref().cloned());
        // A contender under way is what the calls wait for, even if others of this client hold the lock.
        front.or_else(|| line.is_behind_own().then(|| Holder::this_client(1)))
    }

    pub(super) fn line(&self) -> MutexGuard<'_, CallerLine> {
        interleaving::point();
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entered<Key> for Cohort {
    fn entry(&self) -> &Entry<Key, Self> {
        &self.entry
    }
}

impl Home for Cohort {
    fn give_back(self: Arc<Self>, tenancy: TenancyId) -> Fate {
        self.change(|line, now| {
            let served = line.given_back(tenancy, now);
            let fate = fate_after(&served, line, tenancy);
            (served, fate)
        })
    }

    fn release(self: Arc<Self>, tenancy: TenancyId) -> Fate {
        self.change(|line, now| {
            let served = line.released(tenancy, now);
            let fate = fate_after(&served, line, tenancy);
            (served, fate)
        })
    }

    fn fate(&self, tenancy: TenancyId) -> Fate {
        fate_of(&self.line(), tenancy)
    }

    fn downgraded(self: Arc<Self>, tenancy: TenancyId) {
        self.change(|line, now| (line.downgraded(tenancy, now), ()));
    }
}

/// Returns the fate of a lock that was given back, with this effect.
fn fate_after(served: &CallerServed, line: &CallerLine, tenancy: TenancyId) -> Fate {
    let is_passed_on = served.grants.iter().any(|granted| granted.tenancy == tenancy);
    if is_passed_on { Fate::PassedOn } else { fate_of(line, tenancy) }
}

/// Returns the fate of a lock that was given back, and that no call has got for that.
fn fate_of(line: &CallerLine, tenancy: TenancyId) -> Fate {
    if !line.is_kept(tenancy) {
        Fate::Leaves
    } else if line.is_read(tenancy) {
        Fate::Shared
    } else {
        Fate::Undecided
    }
}

impl Handle for Leases {
    fn look(&self) -> Look {
        let looks = self.iter().map(|lease| look(lease.tenure()));
        looks.reduce(Look::beside).expect("a call has at least one lease")
    }
}

fn look(tenure: &Tenure) -> Look {
    let writing = tenure.writes().state();
    let ready = match (tenure.readiness(), writing) {
        (Readiness::Over, _) | (_, Writing::Doubtful) => Ready::Never,
        (Readiness::Pending(_), _) => Ready::NotYet,
        (Readiness::Ready, Writing::Idle | Writing::UnderWay) => Ready::Now,
    };
    Look { ready, is_writing: writing == Writing::UnderWay, company: tenure.company() }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use zklock_testkit::EmbeddedServer;

    use crate::Config;
    use crate::cohort::Cohorts;
    use crate::cohort::call::{CallId, Manner, Side};
    use crate::cohort::waiting::ToTell;
    use crate::events::{Attempt, LockEventKind, Subject};
    use crate::mode::Mode;

    use super::*;

    const WAIT: Duration = Duration::from_secs(20);

    /// Puts a call into the line, and returns the receiver of its answer.
    fn arrive(cohort: &Arc<Cohort>) -> oneshot::Receiver<Answer> {
        arrive_with(cohort, None)
    }

    fn arrive_with(cohort: &Arc<Cohort>, news: Option<Arc<News>>) -> oneshot::Receiver<Answer> {
        let (reply, answer) = oneshot::channel();
        let caller = Some(Caller { reply, wait: WAIT, since: Instant::now(), news });
        cohort.change(|line, now| {
            let (id, side, manner) = (line.id(), Side::Exclusive, Manner::Wait);
            let call = Call { id, side, manner, deadline: now.checked_add(WAIT), caller };
            (line.arrive(call, now).expect("the line is open"), ())
        });
        answer
    }

    #[tokio::test]
    async fn a_grant_whose_caller_is_gone_without_a_word_goes_to_the_next_one() {
        let server = EmbeddedServer::start().unwrap();
        let client = Config::new(server.connect_string()).connect().await.unwrap();
        let (mutex, semaphore) = (client.mutex("/a").unwrap(), client.semaphore("/b", 1).unwrap());
        let (guard, permit) = (mutex.lock().await.unwrap(), semaphore.acquire().await.unwrap());
        let cohorts: &Cohorts = client.cohorts().get_or_default();
        let path = |path| NodePath::new(client.worker().root(), path).unwrap();
        let (line, pool) = (&cohorts.lines.at(&path("/a"))[0], &cohorts.lines.at(&path("/b"))[0]);
        let gone = || drop((arrive(line), arrive(pool)));
        // The receivers are gone, and the line does not know it yet.
        (0..3).for_each(|_| gone());
        let living = [arrive(line), arrive(pool)];
        (0..3).for_each(|_| gone());
        guard.release().await.unwrap();
        permit.release().await.unwrap();
        for answer in living {
            let answer = tokio::time::timeout(WAIT, answer).await.expect("an answer comes").unwrap();
            assert!(matches!(answer, Answer::Granted(_)));
        }
        mutex.lock().await.unwrap().release().await.unwrap();
        semaphore.acquire().await.unwrap().release().await.unwrap();
    }

    #[tokio::test]
    async fn a_lock_whose_next_caller_is_gone_is_released_and_not_passed_on() {
        let server = EmbeddedServer::start().unwrap();
        let client = Config::new(server.connect_string()).connect().await.unwrap();
        let other = Config::new(server.connect_string()).connect().await.unwrap();
        let mut events = client.events();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let cohorts: &Cohorts = client.cohorts().get_or_default();
        let path = NodePath::new(client.worker().root(), "/a").unwrap();
        let line = cohorts.lines.at(&path)[0].clone();
        (0..3).for_each(|_| drop(arrive(&line)));
        guard.release().await.unwrap();
        // The node is gone by now.
        assert!(other.mutex("/a").unwrap().try_lock().await.unwrap().is_some());
        let end = loop {
            let kind = events.next().await.unwrap().kind;
            if !matches!(kind, LockEventKind::Begun | LockEventKind::Acquired { .. }) {
                break kind;
            }
        };
        assert!(matches!(end, LockEventKind::Released { .. }), "{end:?}");
    }

    /// Returns the news of a call that has begun.
    fn begun(cohort: &Cohort) -> (Attempt, Arc<News>) {
        let (path, label) = (cohort.path(), &Cow::Borrowed("a"));
        let subject = Subject { path, label, mode: Mode::Exclusive, group: None };
        let attempt = Attempt::begin(cohort.worker.events(), subject);
        let news = News::of(&attempt.witness()).expect("somebody listens");
        (attempt, news)
    }

    #[tokio::test]
    async fn an_arrival_is_told_to_the_listeners_of_that_call_only() {
        let server = EmbeddedServer::start().unwrap();
        let client = Config::new(server.connect_string()).connect().await.unwrap();
        let mut events = client.events();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let cohorts: &Cohorts = client.cohorts().get_or_default();
        let line = cohorts.lines.at(&NodePath::new(client.worker().root(), "/a").unwrap())[0].clone();
        // The holder's place was not known when it came.
        line.tell_queued();
        // A walk along the line would tell this call too.
        let (_attempt, news) = begun(&line);
        let _answer = arrive_with(&line, Some(news.clone()));
        let second = tokio::spawn(async move { client.mutex("/a").unwrap().lock().await });
        let first_told = loop {
            if let LockEventKind::Queued { ahead } = events.next().await.unwrap().kind {
                break ahead;
            }
        };
        assert_eq!((first_told, news.is_told.load(Ordering::Relaxed)), (2, false));
        line.tell_queued();
        assert!(news.is_told.load(Ordering::Relaxed));
        second.abort();
        drop(guard);
    }

    #[tokio::test]
    async fn calls_that_came_before_their_place_was_known_are_told_with_the_next_one() {
        let server = EmbeddedServer::start().unwrap();
        let client = Config::new(server.connect_string()).connect().await.unwrap();
        let _events = client.events();
        let mutex = client.mutex("/a").unwrap();
        let guard = mutex.lock().await.unwrap();
        let cohorts: &Cohorts = client.cohorts().get_or_default();
        let line = cohorts.lines.at(&NodePath::new(client.worker().root(), "/a").unwrap())[0].clone();
        line.tell_queued();
        guard.release().await.unwrap();
        while line.line().is_queued() {
            tokio::task::yield_now().await;
        }
        let (_attempt, news) = begun(&line);
        let whom = || line.to_tell(&mut line.line(), (CallId(0), Some(news.clone())), &Served::default());
        assert!(matches!(whom(), ToTell::Nobody), "its place is not known");
        let _guard = mutex.lock().await.unwrap();
        assert!(matches!(whom(), ToTell::All));
        line.tell_queued();
        let _answers = [arrive(&line), arrive(&line)];
        assert!(matches!(whom(), ToTell::Last(_, 2)));
    }

    #[cfg(feature = "metrics")]
    #[tokio::test]
    async fn a_node_whose_first_caller_is_gone_is_one_turn() {
        use crate::metrics::Count;

        let server = EmbeddedServer::start().unwrap();
        let client = Config::new(server.connect_string()).connect().await.unwrap();
        let other = Config::new(server.connect_string()).connect().await.unwrap();
        let held = other.mutex("/a").unwrap().lock().await.unwrap();
        let mutex = client.mutex("/a").unwrap();
        let waiting = async |count: usize| {
            let cohorts: &Cohorts = client.cohorts().get_or_default();
            let path = NodePath::new(client.worker().root(), "/a").unwrap();
            loop {
                let line = cohorts.lines.at(&path).first().cloned();
                if let Some(line) = line.filter(|line| line.waiting() == count) {
                    return line;
                }
                tokio::task::yield_now().await;
            }
        };
        let lock = || {
            tokio::spawn({
                let mutex = mutex.clone();
                async move { mutex.lock().await.unwrap() }
            })
        };
        let first = lock();
        drop(arrive(&waiting(1).await));
        let (second, third) = (lock(), lock());
        waiting(4).await;
        first.abort();
        waiting(3).await;
        held.release().await.unwrap();
        let guard = second.await.unwrap();
        assert_eq!(guard.fencing_token().handoff(), 1);
        guard.release().await.unwrap();
        third.await.unwrap().release().await.unwrap();
        let events = client.worker().events().expect("what happens is counted");
        let counters = events.counters().of("unnamed", Mode::Exclusive);
        let counted = [Count::Turn, Count::Acquired, Count::PassedOn].map(|count| counters.get(count));
        assert_eq!(counted, [1, 2, 1]);
    }
}
