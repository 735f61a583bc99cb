//! The end of a client: its calls, and each kind of body that runs.

use std::future::pending;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, block_in_place, spawn_blocking};
use zklock::{
    Client, Config, Ended, Heartbeat, LeaderSelector, Leadership, LeaseState, LockError, LossReason,
    MutexGuard, Readiness, distributed_lock, leader_only,
};
use zklock_testkit::wire::Opcode;

use crate::attributes::Tracer;
use crate::contract::face::Face;
use crate::support::{SOON, Server, Space, TICK, failed, lead, soon, until, until_leads};

const PATH: &str = "/service";

#[tokio::test]
async fn calls_holders_and_candidates_are_told_of_a_shutdown_that_no_server_answers() {
    let server = Server::start();
    let config = Config::new(server.connect_string()).tick_time(TICK).default_wait(Duration::MAX);
    let client = config.connect().await.unwrap();
    let mutex = client.mutex(PATH).unwrap();
    let guard = mutex.lock().await.unwrap();
    let held = client.mutex("/held").unwrap().lock().await.unwrap();
    until_leads(&client, "/led").await;
    server.pause().unwrap();
    let candidates = [("/led", client.leader("/led").unwrap()), ("/run", client.leader("/run").unwrap())];
    assert!(candidates[1].1.term().await.unwrap().is_none(), "there is no answer yet");
    // A call for the same lock would get it from the one that releases it, without an answer.
    let (locking, listing) = (client.mutex("/other").unwrap(), mutex.clone());
    let locking = tokio::spawn(async move { locking.lock().await });
    let listing = tokio::spawn(async move { listing.participants().await });
    let releasing = tokio::spawn(guard.release());
    soon(client.shutdown(Duration::ZERO)).await;
    assert!(failed(soon(locking).await.unwrap()).is_closed());
    assert!(failed(soon(listing).await.unwrap()).is_closed());
    // The server may have deleted the node, but has not answered.
    assert!(failed(soon(releasing).await.unwrap()).is_lost());
    assert_eq!(held.state(), LeaseState::Lost(LossReason::SessionEnded));
    assert_eq!(soon(held.lost()).await, LossReason::SessionEnded);
    for (at, leader) in candidates.iter().chain(&candidates) {
        let error = failed(leader.term().await);
        assert!(matches!(&error, LockError::Closed { path, .. } if path == at), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_is_cancelled_before_its_lock_is_handed_on_by_a_shutdown() {
    let space = Space::new();
    for _ in 0..5 {
        let (client, other) = (space.client().await, space.client().await);
        let ((tracer, dropped), (begun, has_begun)) = (Tracer::new(), oneshot::channel());
        let works = async move |_: &MutexGuard| {
            begun.send(()).unwrap();
            let _tracer = tracer;
            loop {
                // A step of work that nothing interrupts.
                std::thread::sleep(Duration::from_millis(20));
                tokio::task::yield_now().await;
            }
        };
        let mutex = client.mutex(PATH).unwrap();
        let body = tokio::spawn(async move { mutex.run(works).await });
        soon(has_begun).await.unwrap();
        let next = other.mutex(PATH).unwrap();
        let waiting = tokio::spawn(async move {
            let guard = next.lock().await.unwrap();
            let has_ended = dropped.load(Ordering::SeqCst);
            guard.release().await.unwrap();
            has_ended
        });
        space.until_queued(PATH, 2).await;
        soon(client.shutdown(Duration::ZERO)).await;
        assert!(soon(waiting).await.unwrap(), "the next holder ran beside the body");
        let ended: Result<(), LockError> = soon(body).await.unwrap();
        assert!(failed(ended).is_lost());
    }
}

/// The work of a body, which ends when the test says so.
struct Work {
    begun: oneshot::Sender<()>,
    end: oneshot::Receiver<()>,
    tracer: Tracer,
}

impl Work {
    async fn perform(self) -> Result<u8, LockError> {
        self.begun.send(()).expect("the test waits for the body");
        self.end.await.expect("the test ends the body");
        drop(self.tracer);
        Ok(7)
    }

    fn perform_blocking(self) -> Result<u8, LockError> {
        Handle::current().block_on(self.perform())
    }
}

struct Running {
    call: JoinHandle<Result<u8, LockError>>,
    end: oneshot::Sender<()>,
    /// Tells whether the body has ended, or was dropped.
    has_ended: Arc<AtomicBool>,
}

impl Running {
    async fn begin<F>(client: &Client, body: impl FnOnce(Client, Work) -> F) -> Self
    where
        F: Future<Output = Result<u8, LockError>> + Send + 'static,
    {
        let ((begun, has_begun), (end, ends)) = (oneshot::channel(), oneshot::channel());
        let (tracer, has_ended) = Tracer::new();
        let work = Work { begun, end: ends, tracer };
        let call = tokio::spawn(body(client.clone(), work));
        soon(has_begun).await.expect("the body begins");
        Self { call, end, has_ended }
    }
}

async fn begin_shutdown(client: &Client, grace: Duration) -> JoinHandle<()> {
    let closing = client.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown(grace).await });
    until(|| async { client.readiness() == Readiness::Closing }, "the shutdown begins").await;
    assert!(failed(client.mutex("/probe").unwrap().try_lock().await).is_closed());
    shutdown
}

type Body = fn(Client, Work) -> Pin<Box<dyn Future<Output = Result<u8, LockError>> + Send>>;

macro_rules! bodies {
    ($($body:ident),* $(,)?) => { [$((stringify!($body), (|client, work| Box::pin($body(client, work))) as Body)),*] };
}

#[rustfmt::skip]
const LOCKED: &[(&str, Body)] = &bodies![
    locked, locked_to_end, locked_blocking, locked_once, locked_again, locked_for_task, locked_by_heir, guarded, downgraded,
];

#[rustfmt::skip]
const LED: &[(&str, Body)] = &bodies![
    led, led_to_end, led_blocking, led_once, led_again, led_for_task, by_term, selected,
];

#[distributed_lock(path = PATH, client = client)]
async fn locked(client: Client, work: Work) -> Result<u8, LockError> {
    work.perform().await
}

#[distributed_lock(path = PATH, client = client, on_lost = finish)]
async fn locked_to_end(client: Client, work: Work) -> Result<u8, LockError> {
    work.perform().await
}

async fn locked_blocking(client: Client, work: Work) -> Result<u8, LockError> {
    #[distributed_lock(path = PATH, client = client)]
    fn blocking(client: &Client, work: Work) -> Result<u8, LockError> {
        work.perform_blocking()
    }
    spawn_blocking(move || blocking(&client, work)).await.unwrap()
}

async fn locked_once(client: Client, work: Work) -> Result<u8, LockError> {
    #[distributed_lock(path = PATH, client = client, once_per = "1h")]
    async fn once(client: &Client, work: Work) -> Result<Option<u8>, LockError> {
        work.perform().await.map(Some)
    }
    Ok(once(&client, work).await?.expect("the period begins"))
}

#[distributed_lock(path = PATH, client = client)]
async fn locked_again(client: Client, work: Work) -> Result<u8, LockError> {
    #[distributed_lock(path = PATH, client = client)]
    async fn again(client: &Client, done: u8) -> Result<u8, LockError> {
        Ok(done)
    }
    let done = work.perform().await?;
    again(&client, done).await
}

#[distributed_lock(path = PATH, client = client)]
async fn locked_for_task(client: Client, work: Work) -> Result<u8, LockError> {
    zklock::spawn(work.perform()).await.unwrap()
}

async fn locked_by_heir(client: Client, work: Work) -> Result<u8, LockError> {
    let mutex = client.mutex(PATH)?;
    let heir = mutex.run(async |_| zklock::spawn(locked(client, work))).await?;
    heir.await.unwrap()
}

async fn guarded(client: Client, work: Work) -> Result<u8, LockError> {
    let guard = client.mutex(PATH)?.lock().await?;
    let done = work.perform().await?;
    guard.release().await.map(|()| done)
}

async fn downgraded(client: Client, work: Work) -> Result<u8, LockError> {
    let guard = client.rwlock(PATH)?.write().await?.downgrade().await?;
    guard.run(work.perform()).await?
}

#[leader_only(path = PATH, client = client, otherwise = wait)]
async fn led(client: Client, work: Work) -> Result<u8, LockError> {
    work.perform().await
}

#[leader_only(path = PATH, client = client, otherwise = wait, on_lost = finish)]
async fn led_to_end(client: Client, work: Work) -> Result<u8, LockError> {
    work.perform().await
}

async fn led_blocking(client: Client, work: Work) -> Result<u8, LockError> {
    #[leader_only(path = PATH, client = client, otherwise = wait)]
    fn blocking(client: &Client, work: Work) -> Result<u8, LockError> {
        work.perform_blocking()
    }
    spawn_blocking(move || blocking(&client, work)).await.unwrap()
}

#[leader_only(path = PATH, client = client, otherwise = wait, once_per = "1h")]
async fn leads_once(client: &Client, work: Work) -> Result<Option<u8>, LockError> {
    work.perform().await.map(Some)
}

async fn led_once(client: Client, work: Work) -> Result<u8, LockError> {
    Ok(leads_once(&client, work).await?.expect("the period begins"))
}

#[leader_only(path = PATH, client = client, otherwise = wait)]
async fn led_again(client: Client, work: Work) -> Result<u8, LockError> {
    #[leader_only(path = PATH, client = client, otherwise = error)]
    async fn again(client: &Client, done: u8) -> Result<u8, LockError> {
        waits(client, done).await
    }
    #[leader_only(path = PATH, client = client, otherwise = wait)]
    async fn waits(client: &Client, done: u8) -> Result<u8, LockError> {
        Ok(done)
    }
    let done = work.perform().await?;
    again(&client, done).await
}

#[leader_only(path = PATH, client = client, otherwise = wait)]
async fn led_for_task(client: Client, work: Work) -> Result<u8, LockError> {
    zklock::spawn(work.perform()).await.unwrap()
}

async fn by_term(client: Client, work: Work) -> Result<u8, LockError> {
    let latch = client.leader_latch(PATH)?;
    latch.leadership().await?.run(work.perform()).await?
}

/// Leads with a callback that performs the work. The outcome of one that is dropped is that of its term.
async fn select(client: &Client, work: Work) -> (LeaderSelector, Result<u8, LockError>) {
    let ((begin, begun), (done, outcome)) = (oneshot::channel(), oneshot::channel());
    let once = Mutex::new(Some((work, begin, done)));
    let selector = client.election(PATH).unwrap().auto_requeue().select(move |term: Leadership| {
        let (work, begin, done) = once.lock().unwrap().take().expect("it leads once");
        begin.send(term).expect("the test waits");
        async move { done.send(work.perform().await).expect("the test waits") }
    });
    let term = begun.await.expect("it leads");
    let outcome = match outcome.await {
        Ok(outcome) => outcome,
        Err(_) => term.run(async { unreachable!("the term is over") }).await,
    };
    (selector, outcome)
}

async fn selected(client: Client, work: Work) -> Result<u8, LockError> {
    let (selector, outcome) = select(&client, work).await;
    assert!(matches!(selector.ended().await, Ended::Closed));
    outcome
}

/// Shuts a client down, and returns the result of a body that ends within the grace.
async fn end_within_the_grace(client: &Client, running: Running) -> Result<u8, LockError> {
    let shutdown = begin_shutdown(client, SOON).await;
    // The outcome of a body that was dropped says so.
    running.end.send(()).ok();
    let outcome = soon(running.call).await.unwrap();
    soon(shutdown).await.unwrap();
    outcome
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_runs_at_a_shutdown_has_its_grace_and_its_result_is_returned() {
    let mut others = Vec::new();
    for (name, body) in LOCKED.iter().chain(LED) {
        let client = Space::new().client().await;
        let running = Running::begin(&client, body).await;
        match end_within_the_grace(&client, running).await {
            Ok(7) => {}
            other => others.push((name, other)),
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}

#[rstest::rstest]
#[tokio::test]
async fn a_body_under_any_lock_has_its_grace(
    #[values(Face::Exclusive, Face::Reader, Face::Writer, Face::Permits, Face::Multi, Face::Leader)]
    face: Face,
) {
    let client = Space::new().client().await;
    let body = |client: Client, work: Work| async move { face.of(&client, PATH).run(work.perform()).await? };
    let running = Running::begin(&client, body).await;
    assert_eq!(end_within_the_grace(&client, running).await.unwrap(), 7);
}

/// Begins to run for the office, and returns once the candidate waits. The call tells whether the body of the leader
/// before it had ended when it led.
async fn succeed(client: &Client, has_ended: Arc<AtomicBool>) -> JoinHandle<bool> {
    let candidate = client.clone();
    let next = tokio::spawn(async move {
        until_leads(&candidate, PATH).await;
        has_ended.load(Ordering::SeqCst)
    });
    let election = client.election(PATH).unwrap();
    until(async || election.participants().await.unwrap().len() == 2, "the next candidate waits").await;
    next
}

#[rstest::rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_leader_begins_after_a_body_that_ends_or_is_dropped_at_the_end_of_its_grace(
    #[values(SOON, Duration::ZERO)] grace: Duration,
) {
    let ends = !grace.is_zero();
    // A task that a body has spawned is not a part of it, and may end after the grace. A selector runs its callback as
    // `by_term` does, and shares its path with no other candidate.
    let is_part = |name: &str| name != "selected" && (ends || name != "led_for_task");
    for (name, body) in LED.iter().filter(|(name, _)| is_part(name)) {
        let (_, [client, other]) = Space::with_clients().await;
        let running = Running::begin(&client, body).await;
        let next = succeed(&other, running.has_ended).await;
        let shutdown = begin_shutdown(&client, grace).await;
        if ends || name.ends_with("to_end") || name.ends_with("blocking") {
            until(async || ends || client.session_id().is_none(), "the grace is over").await;
            running.end.send(()).unwrap_or_else(|()| panic!("{name} was dropped"));
        }
        assert!(soon(next).await.unwrap(), "another leads beside {name}");
        match soon(running.call).await.unwrap() {
            Ok(outcome) => assert!(ends && outcome == 7, "{name}"),
            Err(error) => assert!(!ends && error.is_lost(), "{name}: {error}"),
        }
        soon(shutdown).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_without_bodies_resigns_at_once_although_the_shutdown_waits_for_another_body() {
    let (space, client) = Space::with_client().await;
    let (latch, shared) = (client.leader_latch("/idle").unwrap(), client.leader("/shared").unwrap());
    let terms = [soon(latch.leadership()).await.unwrap(), soon(shared.leadership()).await.unwrap()];
    terms[0].run(async {}).await.unwrap();
    let running = Running::begin(&client, led).await;
    let shutdown = begin_shutdown(&client, SOON).await;
    for (term, path) in terms.iter().zip(["/idle", "/shared"]) {
        assert_eq!(soon(term.lost()).await, LossReason::Resigned);
        space.until_withdrawn(path).await;
    }
    assert!(failed(terms[0].run(async {}).await).is_lost());
    running.end.send(()).expect("the body has its grace");
    assert_eq!(soon(running.call).await.unwrap().unwrap(), 7);
    soon(shutdown).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_whose_body_has_its_grace_leads_on_and_refuses_new_calls() {
    let client = Space::new().client().await;
    let (latch, term) = lead(&client, "/latch").await;
    let (end, ends) = oneshot::channel();
    let (begun, has_begun) = oneshot::channel();
    let body = async move {
        begun.send(()).expect("the test waits for it");
        ends.await
    };
    let under_latch = tokio::spawn(async move { term.run(Box::pin(body)).await });
    soon(has_begun).await.unwrap();
    let running = Running::begin(&client, led).await;
    let leader = client.leader(PATH).unwrap();
    let shutdown = begin_shutdown(&client, SOON).await;
    assert!(leader.is_leader() && latch.is_leader() && latch.current().is_some());
    for outcome in [
        soon(leader.term()).await.map(drop),
        soon(leader.leadership()).await.map(drop),
        soon(leader.leadership_timeout(SOON)).await.map(drop),
        soon(leader.join()).await.map(drop),
        soon(latch.leadership()).await.map(drop),
        soon(latch.settled()).await,
        soon(client.leader(PATH).unwrap().term()).await.map(drop),
        soon(client.leader("/new").unwrap().leadership()).await.map(drop),
        soon(not_begun(&client)).await,
        block_in_place(|| not_begun_blocking(&client)),
    ] {
        assert!(failed(outcome).is_closed());
    }
    assert!(leader.is_leader() && latch.is_leader());
    running.end.send(()).expect("the body has its grace");
    end.send(()).expect("the other body has its grace");
    assert_eq!(soon(running.call).await.unwrap().unwrap(), 7);
    soon(under_latch).await.unwrap().unwrap().unwrap();
    soon(shutdown).await.unwrap();
    assert!(!leader.is_leader() && !latch.is_leader());
}

#[leader_only(path = PATH, client = client)]
async fn not_begun(client: &Client) -> Result<(), LockError> {
    unreachable!("it begins")
}

#[leader_only(path = PATH, client = client)]
fn not_begun_blocking(client: &Client) -> Result<(), LockError> {
    unreachable!("it begins")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_period_begins_during_a_shutdown_runs() {
    let space = Space::new();
    // Heartbeats that are transactions could be taken for the beginning.
    let (proxy, client) = space.proxied_with(|config| config.heartbeat(Heartbeat::Read)).await;
    until_leads(&client, PATH).await;
    let held = proxy.on_reply(Opcode::MULTI).hold();
    let begins = tokio::spawn({
        let client = client.clone();
        async move { Running::begin(&client, led_once).await }
    });
    soon(held.struck()).await;
    let shutdown = begin_shutdown(&client, SOON).await;
    held.release();
    let running = soon(begins).await.unwrap();
    running.end.send(()).expect("the body has its grace");
    assert_eq!(soon(running.call).await.unwrap().unwrap(), 7);
    soon(shutdown).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_candidate_that_is_closed_during_the_grace_drops_its_body() {
    let client = Space::new().client().await;
    let (latch, term) = lead(&client, PATH).await;
    let (begun, has_begun) = oneshot::channel();
    let body = tokio::spawn(async move {
        let body = async {
            begun.send(()).expect("the test waits");
            pending::<()>().await;
        };
        term.run(body).await
    });
    soon(has_begun).await.unwrap();
    let shutdown = begin_shutdown(&client, SOON).await;
    soon(latch.close()).await.unwrap();
    let error = failed(soon(body).await.unwrap());
    assert!(matches!(error, LockError::Lost { reason: LossReason::Resigned, .. }), "{error}");
    soon(shutdown).await.unwrap();
}
