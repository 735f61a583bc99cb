//! The events that listeners get: each end of an attempt and of a candidate, and its cause.

mod labels;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use tokio::runtime::Builder;
use zklock::{Client, Config, Events, LockError, LockEvent, LockEventKind, LossReason, Policy};
use zklock_testkit::How;
use zookeeper_client::Permission as P;

use crate::spans::only_wait;
use crate::spans::recorder::Recorder;
use crate::support::{PATIENCE, Server, Space, failed, soon, spawn_lock, until, until_in_line};

const PATH: &str = "/jobs/1";

async fn names_until(events: &mut Events, last: &str) -> Vec<String> {
    let mut names = Vec::new();
    while names.last().is_none_or(|name| name != last) {
        let event = soon(events.next()).await.expect("the client is there");
        assert_eq!(event.path, PATH);
        names.push(name(&event.kind));
    }
    names
}

#[tokio::test]
async fn a_listener_learns_that_a_lock_was_in_doubt_and_is_held() {
    let server = Server::start_granting(PATIENCE);
    let client = server.client(PATIENCE).await;
    let mut events = client.events();
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    server.kill().unwrap();
    assert_eq!(names_until(&mut events, "Suspended").await, ["Begun", "Acquired", "Suspended"]);
    server.restart().unwrap();
    assert_eq!(names_until(&mut events, "Confirmed").await, ["Confirmed"]);
    assert!(guard.is_held());
}

#[tokio::test]
async fn the_gate_of_a_semaphore_and_permits_that_were_not_all_had_are_not_spoken_of() {
    let client = Space::new().client().await;
    let semaphore = client.semaphore(PATH, 3).unwrap();
    let _two = semaphore.acquire_many(2).await.unwrap();
    let mut events = client.events();
    assert!(semaphore.try_acquire_many(2).await.unwrap().is_none());
    assert_eq!(names_until(&mut events, "Contended").await, ["Begun", "Contended"]);
    let one = semaphore.acquire().await.unwrap();
    one.release().await.unwrap();
    assert_eq!(names_until(&mut events, "Released").await, ["Begun", "Acquired", "Released"]);
}

#[tokio::test]
async fn a_listener_that_is_slow_counts_what_it_missed_and_delays_nobody() {
    let client = Space::new().client().await;
    let (mut slow, mut other) = (client.events(), client.events());
    let mutex = client.mutex(PATH).unwrap();
    for _ in 0..600 {
        mutex.lock().await.unwrap().release().await.unwrap();
        names_until(&mut other, "Released").await;
    }
    assert_eq!(other.missed(), 0);
    let first = soon(slow.next()).await.unwrap();
    assert_eq!((first.missed, slow.missed()), (1800 - 1024, 1800 - 1024));
    assert_eq!(soon(slow.next()).await.unwrap().missed, 0);
}

const ENDS: &str = "/ends/1";

async fn end(events: &mut Events) -> LockEventKind {
    loop {
        let kind = soon(events.next()).await.expect("the client is there").kind;
        if !["Begun", "Queued", "Acquired", "Elected"].contains(&name(&kind).as_str()) {
            return kind;
        }
    }
}

#[tokio::test]
async fn each_end_of_a_wait_is_told_with_its_cause_and_its_time() {
    let (space, [client, other]) = Space::with_clients().await;
    let held = other.mutex(ENDS).unwrap().lock().await.unwrap();
    let room = other.semaphore("/ends/room", 3).unwrap().acquire().await.unwrap();
    let mut events = client.events();
    let (recorder, _listening) = Recorder::listen();
    let span = || only_wait(&recorder);
    let mutex = client.mutex(ENDS).unwrap();
    let begun = Instant::now();
    assert!(mutex.try_lock().await.unwrap().is_none());
    assert_eq!(span().end(), ["contended", "", ""]);
    let contended = end(&mut events).await;
    let LockEventKind::Contended { waited, .. } = contended else { panic!("{contended:?}") };
    assert!(waited > Duration::ZERO && waited <= begun.elapsed(), "{waited:?}");

    let wait = Duration::from_millis(50);
    let late = failed(mutex.lock_timeout(wait).await);
    let ended = span();
    assert_eq!(ended.end(), ["timed_out", "timed_out", "ERROR"]);
    assert_eq!(ended.field("otel.status_description"), late.to_string());
    let timed_out = end(&mut events).await;
    let LockEventKind::TimedOut { waited, error, .. } = timed_out else { panic!("{timed_out:?}") };
    assert!(waited >= wait && error.is_timeout(), "{waited:?} {error}");

    let begun = Instant::now();
    let mut waiting = Box::pin(mutex.lock());
    tokio::select! {
        _ = &mut waiting => panic!("another client holds it"),
        () = async {
            space.until_queued(ENDS, 2).await;
            tokio::time::sleep(wait).await;
        } => {}
    }
    drop(waiting);
    assert_eq!(span().end(), ["cancelled", "", ""]);
    let cancelled = end(&mut events).await;
    let LockEventKind::Cancelled { waited, .. } = cancelled else { panic!("{cancelled:?}") };
    assert!((wait..=begun.elapsed()).contains(&waited), "{waited:?}");
    held.release().await.unwrap();

    let begun = Instant::now();
    failed(client.semaphore("/ends/room", 4).unwrap().acquire().await);
    assert_eq!(span().end(), ["refused", "refused", "ERROR"]);
    let refused = end(&mut events).await;
    let LockEventKind::Refused { error: LockError::PermitsDiffer { .. }, waited, .. } = refused else {
        panic!("{refused:?}");
    };
    assert!(waited > Duration::ZERO && waited <= begun.elapsed(), "{waited:?}");
    room.release().await.unwrap();

    client.shutdown(Duration::ZERO).await;
    let begun = Instant::now();
    failed(mutex.lock().await);
    assert_eq!(span().end(), ["failed", "failed", "ERROR"]);
    let ended = end(&mut events).await;
    let LockEventKind::Failed { error, waited, .. } = ended else { panic!("{ended:?}") };
    assert!(error.is_closed() && waited <= begun.elapsed(), "{error} {waited:?}");
}

async fn hold_for(client: &Client, least: Duration) -> zklock::MutexGuard {
    let guard = client.mutex(ENDS).unwrap().lock().await.unwrap();
    tokio::time::sleep(least).await;
    guard
}

#[tokio::test]
async fn each_end_of_a_hold_is_told_with_its_cause_and_its_time() {
    let (space, client) = Space::with_client().await;
    let mut events = client.events();
    let (recorder, _listening) = Recorder::listen();
    let least = Duration::from_millis(20);
    hold_for(&client, least).await.release().await.unwrap();
    let released = end(&mut events).await;
    let LockEventKind::Released { held, .. } = released else { panic!("{released:?}") };
    assert!(held >= least, "{held:?}");

    let guard = hold_for(&client, least).await;
    let next = spawn_lock(&client, ENDS);
    until_in_line(&client.mutex(ENDS).unwrap(), 1).await;
    guard.release().await.unwrap();
    let passed_on = end(&mut events).await;
    let LockEventKind::PassedOn { held, .. } = passed_on else { panic!("{passed_on:?}") };
    assert!(held >= least, "{held:?}");

    let guard = soon(next).await.unwrap();
    tokio::time::sleep(least).await;
    space.delete_children(ENDS).await;
    let lost = end(&mut events).await;
    let LockEventKind::Lost { reason: LossReason::NodeDeleted, fencing_token, held, .. } = lost else {
        panic!("{lost:?}");
    };
    assert!(held >= least, "{held:?}");
    assert_eq!(fencing_token, guard.fencing_token());
    // The release of a lost lock is no second end.
    failed(guard.release().await);
    drop(hold_for(&client, least).await);
    assert!(matches!(end(&mut events).await, LockEventKind::Released { .. }));
    let denied = hold_for(&client, least).await;
    space.permit(ENDS, P::READ | P::CREATE | P::ADMIN).await;
    let error = failed(denied.release().await);
    space.permit(ENDS, P::ALL).await;
    assert!(matches!(end(&mut events).await, LockEventKind::ReleaseFailed { .. }));
    let spans = recorder.take();
    let holds: Vec<_> = spans.iter().filter(|span| span.name == "zklock.hold").collect();
    // A lock that was passed on and then lost was not lost by its first holder.
    let ends: Vec<_> = holds.iter().map(|span| span.end()[0]).collect();
    assert_eq!(ends, ["ended", "ended", "lost", "ended", "release_failed"]);
    assert_eq!(holds[4].end(), ["release_failed", "release_failed", "ERROR"]);
    assert_eq!(holds[4].field("otel.status_description"), error.to_string());
}

#[tokio::test]
async fn permits_of_one_call_are_one_attempt_that_is_lost_with_the_first_of_them() {
    let (space, client) = Space::with_client().await;
    let mut events = client.events();
    let semaphore = client.semaphore("/ends/room", 3).unwrap();
    let three = semaphore.acquire_many(3).await.unwrap();
    let token = three.fencing_token();
    three.release().await.unwrap();
    let released = end(&mut events).await;
    assert!(matches!(released, LockEventKind::Released { fencing_token, .. } if fencing_token == token));
    let two = semaphore.acquire_many(2).await.unwrap();
    space.delete_first_child("/ends/room/leases").await;
    assert!(matches!(end(&mut events).await, LockEventKind::Lost { .. }));
    failed(two.release().await);
    semaphore.acquire().await.unwrap().release().await.unwrap();
    assert!(matches!(end(&mut events).await, LockEventKind::Released { .. }));
}

#[tokio::test]
async fn members_of_a_group_have_lives_of_their_own_and_its_id() {
    let client = Space::new().client().await;
    let mut events = client.events();
    client.lock_all(["/ends/a", "/ends/b"]).await.unwrap().release().await.unwrap();
    client.mutex(ENDS).unwrap().lock().await.unwrap().release().await.unwrap();
    let mut begun = Vec::new();
    while begun.len() < 3 {
        let event = soon(events.next()).await.unwrap();
        if let LockEventKind::Begun { .. } = event.kind {
            begun.push(event);
        }
    }
    let [first, second, single] = &begun[..] else { unreachable!("three have begun") };
    assert!(first.group.is_some() && first.group == second.group && first.id != second.id, "{begun:?}");
    assert_eq!(single.group, None);
}

#[tokio::test]
async fn each_term_of_a_candidate_has_its_end_and_the_candidate_withdraws_at_last() {
    let (proxy, client) = Space::new().proxied().await;
    let mut events = client.events();
    let latch = client.election("/ends/leader").unwrap().policy(Policy::GiveUpWhenSuspended).latch();
    soon(latch.leadership()).await.unwrap().resign();
    assert!(matches!(end(&mut events).await, LockEventKind::Resigned { .. }));
    soon(latch.leadership()).await.unwrap();
    proxy.cut(How::Rst);
    let mut lost = end(&mut events).await;
    while let LockEventKind::Suspended { .. } | LockEventKind::Confirmed { .. } = lost {
        lost = end(&mut events).await;
    }
    assert!(matches!(lost, LockEventKind::Lost { reason: LossReason::Suspended, .. }), "{lost:?}");
    soon(latch.leadership()).await.unwrap();
    soon(latch.close()).await.unwrap();
    assert!(matches!(end(&mut events).await, LockEventKind::Resigned { .. }));
    assert!(matches!(end(&mut events).await, LockEventKind::Withdrawn { .. }));
}

#[tokio::test]
async fn a_candidate_that_the_servers_refuse_is_rejected_and_withdraws() {
    let space = Space::new();
    space.restrict("/closed", P::READ).await;
    let client = space.client().await;
    let mut events = client.events();
    let selector = client.leader_selector("/closed/leader", |_| async {}).unwrap();
    let rejected = end(&mut events).await;
    let LockEventKind::Rejected { error: LockError::Denied { .. }, .. } = rejected else {
        panic!("{rejected:?}");
    };
    assert!(matches!(end(&mut events).await, LockEventKind::Withdrawn { .. }));
    drop(selector);
}

#[tokio::test]
async fn all_that_a_client_without_servers_has_begun_ends_with_it() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for _ in 0..20 {
        let client = Config::new(free.to_string()).start().unwrap();
        let (listener, mut events) = (Listener::start(&client), client.events());
        let leader = client.leader("/ends/leader").unwrap();
        let mut joining = Box::pin(leader.join());
        let begun = tokio::select! {
            biased;
            joined = &mut joining => panic!("there is no server: {joined:?}"),
            begun = soon(events.next()) => begun.unwrap(),
        };
        assert!(matches!(begun.kind, LockEventKind::Begun { .. }), "{begun:?}");
        let selector = client.leader_selector("/ends/selector", |_| async {}).unwrap();
        while soon(events.next()).await.unwrap().path != "/ends/selector" {}
        let waiting = spawn_lock(&client, ENDS);
        while soon(events.next()).await.unwrap().path != ENDS {}
        waiting.abort();
        drop(joining);
        drop((leader, selector, client));
        let ledger = listener.end().await;
        ledger.check();
        assert_eq!((ledger.count(&["Begun"]), ledger.count(&["Withdrawn"])), (3, 2), "{ledger:?}");
    }
}

#[tokio::test]
async fn a_selector_that_does_not_run_again_withdraws_until_it_is_requeued() {
    let client = Space::new().client().await;
    let mut events = client.events();
    let selector = client.leader_selector("/ends/once", |_| async {}).unwrap();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut names = Vec::new();
        while names.last().is_none_or(|name| name != "Withdrawn") {
            let event = soon(events.next()).await.unwrap();
            if !matches!(event.kind, LockEventKind::Queued { .. }) {
                names.push(name(&event.kind));
                ids.push(event.id);
            }
        }
        assert_eq!(names, ["Begun", "Elected", "Resigned", "Withdrawn"]);
        selector.requeue();
    }
    assert!(ids[..4].iter().all(|id| *id == ids[0]) && ids[4..].iter().all(|id| *id == ids[4]), "{ids:?}");
    assert_ne!(ids[0], ids[4]);
}

#[tokio::test]
async fn a_candidate_that_is_lost_while_it_pauses_for_the_handover_was_not_elected() {
    let (space, client) = Space::with_client().await;
    let mut events = client.events();
    let election = client.election(PATH).unwrap().hold_down(Duration::ZERO);
    let latch = election.handover(Duration::from_secs(3_600)).latch();
    space.until_queued(PATH, 1).await;
    let node = space.children(PATH).await;
    space.delete_first_child(PATH).await;
    let is_back = async || space.children(PATH).await.first().is_some_and(|next| *next != node[0]);
    until(is_back, "it is in its queue again").await;
    drop(latch);
    assert_eq!(names_until(&mut events, "Withdrawn").await, ["Begun", "Withdrawn"]);
}

/// A listener that looks at its leader whenever it is woken.
struct Curious(zklock::Leader);

impl Wake for Curious {
    fn wake(self: Arc<Self>) {
        assert!(!self.0.is_leader());
    }
}

#[tokio::test]
async fn a_listener_that_is_woken_by_a_new_candidate_may_look_at_it() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = Config::new(free.to_string()).start().unwrap();
    let leader = client.leader("/ends/leader").unwrap();
    let joined = thread::spawn(move || {
        let mut events = client.events();
        let curious = Waker::from(Arc::new(Curious(leader.clone())));
        assert!(pin!(events.next()).poll(&mut Context::from_waker(&curious)).is_pending());
        // The first poll joins the election, and wakes the listener.
        assert!(pin!(leader.join()).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    });
    until(async || joined.is_finished(), "the candidate has joined").await;
    joined.join().unwrap();
}

/// The events of a client, as far as they have come.
#[derive(Default)]
pub(crate) struct Ledger {
    lives: BTreeMap<u64, Stage>,
    counts: BTreeMap<String, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waits,
    Holds,
    Stands,
    Leads,
    Over,
}

pub(crate) struct Listener(thread::JoinHandle<Ledger>);

impl Listener {
    pub(crate) fn start(client: &Client) -> Self {
        let mut events = client.events();
        let runtime = Builder::new_current_thread().build().unwrap();
        Self(thread::spawn(move || {
            runtime.block_on(async {
                let mut ledger = Ledger::default();
                while let Some(event) = events.next().await {
                    assert_eq!(event.missed, 0);
                    ledger.note(&event);
                }
                ledger
            })
        }))
    }

    pub(crate) async fn end(self) -> Ledger {
        tokio::task::spawn_blocking(|| self.0.join().expect("the events are in order")).await.unwrap()
    }
}

impl Ledger {
    fn note(&mut self, event: &LockEvent) {
        use LockEventKind::{
            Acquired, Begun, Cancelled, Confirmed, Contended, Downgraded, Elected, Failed, Lost, PassedOn,
            Queued, Refused, Rejected, ReleaseFailed, Released, Resigned, Suspended, TimedOut, Withdrawn,
        };
        let before = self.lives.get(&event.id).copied();
        let is_candidate = event.mode == zklock::Mode::Leader;
        let after = match (before, &event.kind) {
            (None, Begun { .. }) => {
                if is_candidate {
                    Stage::Stands
                } else {
                    Stage::Waits
                }
            }
            (Some(stage @ (Stage::Waits | Stage::Stands)), Queued { .. }) => stage,
            (
                Some(Stage::Waits),
                Contended { .. } | TimedOut { .. } | Cancelled { .. } | Refused { .. } | Failed { .. },
            ) => Stage::Over,
            (Some(Stage::Waits), Acquired { .. }) => Stage::Holds,
            (Some(stage @ (Stage::Holds | Stage::Leads)), Suspended { .. } | Confirmed { .. }) => stage,
            (Some(Stage::Holds), Downgraded { .. }) => Stage::Holds,
            (Some(Stage::Holds), Released { .. } | PassedOn { .. } | Lost { .. } | ReleaseFailed { .. }) => {
                Stage::Over
            }
            (Some(Stage::Stands), Rejected { .. }) => Stage::Stands,
            (Some(Stage::Stands), Elected { .. }) => Stage::Leads,
            (Some(Stage::Leads), Resigned { .. } | Lost { .. } | ReleaseFailed { .. }) => Stage::Stands,
            (Some(Stage::Stands), Withdrawn { .. }) => Stage::Over,
            (before, _) => panic!("{before:?} has {event:?}"),
        };
        self.lives.insert(event.id, after);
        *self.counts.entry(name(&event.kind)).or_default() += 1;
    }

    pub(crate) fn count(&self, names: &[&str]) -> usize {
        names.iter().filter_map(|name| self.counts.get(*name)).sum()
    }

    /// Checks that each life has ended, and that the counts of beginnings and ends agree.
    pub(crate) fn check(&self) {
        let open: Vec<_> = self.lives.iter().filter(|(_, stage)| **stage != Stage::Over).collect();
        assert!(open.is_empty(), "without an end: {open:?}");
        let ends = ["Contended", "TimedOut", "Cancelled", "Refused", "Failed", "Acquired", "Withdrawn"];
        assert_eq!(self.count(&["Begun"]), self.count(&ends), "{:?}", self.counts);
        assert_eq!(self.count(&["Begun"]), self.lives.len(), "{:?}", self.counts);
        let ends = ["Released", "PassedOn", "Lost", "ReleaseFailed", "Resigned"];
        assert_eq!(self.count(&["Acquired", "Elected"]), self.count(&ends), "{:?}", self.counts);
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts.fmt(f)
    }
}

fn name(kind: &LockEventKind) -> String {
    let text = format!("{kind:?}");
    text.split(' ').next().unwrap_or_default().to_owned()
}
