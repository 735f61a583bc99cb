//! The spans of calls and of bodies, as a subscriber of `tracing` gets them.

pub(crate) mod recorder;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use tokio::task::JoinSet;
use tracing::{Instrument, info, info_span};
use zklock::{Client, Guard, Leadership, LockError, LossReason, distributed_lock, leader_only};
use zklock_testkit::How;
use zookeeper_client::Permission as P;

use self::recorder::{Recorded, Recorder};
use crate::local_queue::stress::Desk;
use crate::support::{Space, failed, lead, soon, until};

const PATH: &str = "/jobs/1";

fn pair(spans: Vec<Recorded>) -> [Recorded; 2] {
    let names: Vec<_> = spans.iter().map(|span| span.name).collect();
    assert_eq!(names, ["zklock.acquire", "zklock.hold"]);
    spans.try_into().unwrap()
}

pub(crate) fn only_wait(recorder: &Recorder) -> Recorded {
    let spans = recorder.take();
    let [wait] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((wait.name, wait.field("zklock.token")), ("zklock.acquire", ""));
    wait.clone()
}

async fn check<K>(guard: Guard<K>, recorder: &Recorder, kind: &'static str) {
    let token = guard.fencing_token();
    guard.run(async { info!("the body under {kind}") }).await.unwrap();
    assert!(recorder.spans().iter().any(|span| span.name == "zklock.hold" && !span.is_closed));
    guard.release().await.unwrap();
    assert_eq!(recorder.around(&format!("the body under {kind}")), Some("zklock.hold"));
    for (span, outcome) in pair(recorder.take()).iter().zip(["acquired", "ended"]) {
        assert_eq!((span.parent, span.end()), (Some("request"), [outcome, "", ""]), "{span:?}");
        let fields = ["zklock.path", "zklock.name", "zklock.kind", "zklock.token"];
        let expected = [PATH, "jobs", kind, &token.to_string()];
        assert_eq!(fields.map(|name| span.field(name)), expected, "{span:?}");
    }
}

#[tokio::test]
async fn a_call_has_a_span_for_its_wait_and_one_around_its_body() {
    let (recorder, _listening) = Recorder::listen();
    let client = Space::new().client().await;
    let calls = async {
        let mutex = client.mutex(PATH).unwrap().named("jobs");
        check(mutex.lock().await.unwrap(), &recorder, "exclusive").await;
        let lock = client.rwlock(PATH).unwrap().named("jobs");
        check(lock.read().await.unwrap(), &recorder, "read").await;
        check(lock.write().await.unwrap(), &recorder, "write").await;
        let semaphore = client.semaphore(PATH, 3).unwrap().named("jobs");
        check(semaphore.acquire_many(2).await.unwrap(), &recorder, "permit").await;
    };
    calls.instrument(info_span!("request")).await;
}

#[tokio::test]
async fn a_lost_lock_has_the_reason_in_its_span() {
    let (recorder, _listening) = Recorder::listen();
    let (space, client) = Space::with_client().await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    space.delete_children(PATH).await;
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
    // Until the guard is dropped, a body may still run inside of the span.
    assert!(recorder.spans().iter().any(|span| span.name == "zklock.hold" && !span.is_closed));
    drop(guard);
    let [_, hold] = pair(recorder.take());
    assert_eq!(hold.end(), ["lost", "lost", "ERROR"]);
    assert_eq!(hold.field("zklock.reason"), "node_deleted");
    let guard = client.semaphore("/room", 2).unwrap().acquire_many(2).await.unwrap();
    space.delete_first_child("/room/leases").await;
    soon(guard.lost()).await;
    failed(guard.release().await);
    let [_, hold] = pair(recorder.take());
    assert_eq!((hold.end(), hold.field("zklock.reason")), (["lost", "lost", "ERROR"], "node_deleted"));
}

#[tokio::test]
async fn a_downgraded_lock_has_one_span_to_the_end_of_its_reader() {
    let (recorder, _listening) = Recorder::listen();
    let client = Space::new().client().await;
    let writer = client.rwlock(PATH).unwrap().write().await.unwrap();
    let reader = writer.downgrade().await.unwrap();
    reader.run(async { info!("reads") }).await.unwrap();
    reader.release().await.unwrap();
    assert_eq!(recorder.around("reads"), Some("zklock.hold"));
    assert_eq!(pair(recorder.take())[1].end()[0], "ended");
}

#[tokio::test]
async fn the_span_of_a_lock_tells_that_its_downgrade_failed() {
    let (recorder, _listening) = Recorder::listen();
    let (space, client) = Space::with_client().await;
    let writer = client.rwlock(PATH).unwrap().write().await.unwrap();
    space.permit(PATH, P::READ | P::WRITE | P::DELETE | P::ADMIN).await;
    assert!(matches!(failed(writer.downgrade().await), LockError::Denied { .. }));
    space.until_empty(PATH).await;
    assert_eq!(pair(recorder.take())[1].end(), ["release_failed", "release_failed", "ERROR"]);
}

#[tokio::test]
async fn each_lock_of_several_has_spans_of_its_own() {
    let (_, [client, other]) = Space::with_clients().await;
    let _held = other.mutex("/c").unwrap().lock().await.unwrap();
    let (recorder, _listening) = Recorder::listen();
    let both = client.lock_all(["/a", "/b"]).await.unwrap();
    both.run(async { info!("under both") }).await.unwrap();
    both.release().await.unwrap();
    assert_eq!(recorder.around("under both"), Some("zklock.hold"));
    let spans = recorder.take();
    let seen: Vec<_> = spans.iter().map(|span| (span.field("zklock.path"), span.end()[0])).collect();
    assert_eq!(seen, [("/a", "acquired"), ("/a", "ended"), ("/b", "acquired"), ("/b", "ended")]);

    assert!(client.multi(["/a", "/c"]).unwrap().try_lock().await.unwrap().is_none());
    let spans = recorder.take();
    let seen: Vec<_> = spans.iter().map(|span| (span.field("zklock.path"), span.end()[0])).collect();
    assert_eq!(seen, [("/a", "acquired"), ("/a", "ended"), ("/c", "contended")]);
    assert_eq!(recorder.threads().len(), 1, "{:?}", recorder.threads());
}

#[tokio::test]
async fn spans_are_opened_filled_and_closed_on_the_threads_of_their_callers() {
    let (recorder, _listening) = Recorder::listen();
    let (proxy, client) = Space::new().proxied().await;
    let (mut random, mut tasks) = (Rng::with_seed(7), JoinSet::new());
    let desk = Arc::new(Desk::default());
    for _ in 0..10 {
        let (client, desk, mut random) = (client.clone(), desk.clone(), random.fork());
        tasks.spawn(async move {
            for _ in 0..20 {
                desk.call(&client, &mut random).await.ok();
            }
        });
    }
    let faults = async {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            proxy.cut(How::Rst);
        }
    };
    tokio::select! {
        _ = tasks.join_all() => {}
        () = faults => {}
    }
    let (latch, term) = lead(&client, "/leader").await;
    term.run(async {}).await.unwrap();
    let lost = client.mutex("/lost").unwrap().lock().await.unwrap();
    soon(client.shutdown(Duration::ZERO)).await;
    drop((lost, term, latch));
    let here = thread::current().name().unwrap_or_default().to_owned();
    assert_eq!(recorder.threads().into_iter().collect::<Vec<_>>(), [here]);
    // All spans are closed.
    let spans = recorder.take();
    let count = |name, outcome| {
        let with = spans.iter().filter(|span| span.name == name && span.end()[0] == outcome);
        with.count()
    };
    let acquired = count("zklock.acquire", "acquired");
    let held = spans.iter().filter(|span| span.name == "zklock.hold").count();
    assert_eq!(acquired, held, "{spans:?}");
    assert!(count("zklock.hold", "ended") > 0 && count("zklock.acquire", "timed_out") > 0);
    assert!(count("zklock.hold", "lost") > 0, "{spans:?}");
    let ends = ["acquired", "contended", "timed_out", "cancelled", "failed", "refused"]
        .map(|end| count("zklock.acquire", end));
    assert_eq!(ends.iter().sum::<usize>() + held, spans.len(), "{spans:?}");
}

#[tokio::test]
async fn a_call_that_enters_its_lock_again_has_no_spans_and_stays_in_its_own() {
    let (recorder, _listening) = Recorder::listen();
    let client = Space::new().client().await;
    let mutex = client.mutex(PATH).unwrap();
    let guard = mutex.lock().await.unwrap();
    let again = async {
        let again = mutex.lock().await.unwrap();
        again.run(async { info!("entered again") }).await.unwrap();
        again.release().await.unwrap();
    };
    guard.run(again.instrument(info_span!("part of the body"))).await.unwrap();
    guard.release().await.unwrap();
    assert_eq!(recorder.around("entered again"), Some("part of the body"));
    assert_eq!(pair(recorder.take()).map(|span| span.parent), [None; 2]);
}

#[tokio::test]
async fn a_hold_that_outlives_the_outer_one_keeps_the_span_open() {
    let (recorder, _listening) = Recorder::listen();
    let client = Space::new().client().await;
    let mutex = client.mutex(PATH).unwrap();
    let outer = mutex.lock().await.unwrap();
    let inner = outer.scope(mutex.lock()).await.unwrap();
    outer.release().await.unwrap();
    assert!(recorder.spans().iter().any(|span| span.name == "zklock.hold" && !span.is_closed));
    drop(inner);
    assert_eq!(pair(recorder.take())[1].end()[0], "ended");
}

#[tokio::test]
async fn a_body_inside_of_a_later_span_stays_there_and_one_without_a_span_is_in_that_of_the_lock() {
    let (recorder, _listening) = Recorder::listen();
    let client = Space::new().client().await;
    let locked = async { client.mutex(PATH).unwrap().lock().await.unwrap() };
    let guard = locked.instrument(info_span!("request")).await;
    let later = async { guard.run(async { info!("later") }).await.unwrap() };
    later.instrument(info_span!("a later step")).await;
    tokio::spawn(async move {
        guard.run(async { info!("in a task of its own") }).await.unwrap();
        guard.run_blocking(|| info!("without a future")).unwrap();
        info!("behind the body");
    })
    .await
    .unwrap();
    assert_eq!(recorder.around("later"), Some("a later step"));
    assert_eq!(recorder.around("in a task of its own"), Some("zklock.hold"));
    assert_eq!(recorder.around("without a future"), Some("zklock.hold"));
    assert_eq!(recorder.around("behind the body"), None);
    assert_eq!(pair(recorder.take()).map(|span| span.parent), [Some("request"); 2]);
}

#[distributed_lock(path = "/orders/{id}", client = client, wait = "20s")]
async fn settle(client: &Client, id: u64) -> Result<(), LockError> {
    info!("settles {id}");
    tokio::task::yield_now().await;
    info!("has settled {id}");
    Ok(())
}

#[distributed_lock(path = "/ledger", client = client, wait = "20s")]
fn balance(client: &Client) -> Result<(), LockError> {
    info!("balances");
    Ok(())
}

#[leader_only(path = "/sweeper", client = client, otherwise = wait)]
async fn sweep(client: &Client) -> Result<(), LockError> {
    info!("sweeps");
    Ok(())
}

#[tokio::test]
async fn the_bodies_of_annotated_functions_are_inside_of_the_span_of_the_hold() {
    let (recorder, _listening) = Recorder::listen();
    let client = Space::new().client().await;
    settle(&client, 7).instrument(info_span!("request")).await.unwrap();
    assert_eq!(recorder.around("settles 7"), Some("zklock.hold"));
    let [_, hold] = pair(recorder.take());
    assert_eq!(hold.parent, Some("request"));
    assert_eq!(["zklock.path", "zklock.name"].map(|name| hold.field(name)), ["/orders/7", "/orders/{id}"]);

    let (subscriber, caller) = (recorder.subscriber(), client.clone());
    let balanced = thread::spawn(move || {
        tracing::dispatcher::with_default(&subscriber, || info_span!("request").in_scope(|| balance(&caller)))
    });
    balanced.join().unwrap().unwrap();
    assert_eq!(recorder.around("balances"), Some("zklock.hold"));
    assert_eq!(pair(recorder.take()).map(|span| span.parent), [Some("request"); 2]);

    soon(sweep(&client).instrument(info_span!("request"))).await.unwrap();
    assert_eq!(recorder.around("sweeps"), Some("zklock.hold"));
    let [wait, hold] = pair(recorder.take());
    assert_eq!([wait.parent, hold.parent], [Some("request"); 2]);
    assert_eq!([wait.end()[0], hold.end()[0]], ["acquired", "ended"]);
    assert_eq!(hold.field("zklock.kind"), "leader");
}

const OFFICE: &str = "/sweeper";

#[tokio::test]
async fn a_call_that_waits_to_lead_has_a_span_and_so_has_each_body_under_the_term() {
    let (recorder, _listening) = Recorder::listen();
    let (space, [first, second]) = Space::with_clients().await;
    let (_latch, term) = lead(&first, OFFICE).await;
    let token = term.fencing_token().to_string();
    term.run(async { info!("under the term") }).await.unwrap();
    assert_eq!(recorder.around("under the term"), Some("zklock.hold"));
    for (span, outcome) in pair(recorder.take()).iter().zip(["acquired", "ended"]) {
        assert_eq!(span.end(), [outcome, "", ""]);
        let fields = ["zklock.path", "zklock.name", "zklock.kind", "zklock.token"];
        assert_eq!(fields.map(|name| span.field(name)), [OFFICE, "unnamed", "leader", &token]);
    }

    let other = second.leader_latch(OFFICE).unwrap();
    failed(other.leadership_timeout(Duration::from_millis(50)).await);
    assert_eq!(only_wait(&recorder).end(), ["timed_out", "timed_out", "ERROR"]);

    term.run_to_end(async { info!("to its end") }).await.unwrap();
    term.run_blocking(|| info!("without a future")).unwrap();
    for message in ["to its end", "without a future"] {
        assert_eq!(recorder.around(message), Some("zklock.hold"));
    }
    assert_eq!(recorder.take().len(), 2);

    let resigned = term.run(async {
        term.resign();
        tokio::task::yield_now().await;
    });
    failed(soon(resigned).await);
    let [hold] = &recorder.take()[..] else { panic!("a body has one span") };
    assert_eq!((hold.end(), hold.field("zklock.reason")), (["lost", "", ""], "resigned"));
    let term = soon(other.leadership()).await.unwrap();
    recorder.take();
    let body = term.run(std::future::pending::<()>());
    let (ended, ()) = tokio::join!(body, space.delete_first_child(OFFICE));
    failed(ended);
    let [hold] = &recorder.take()[..] else { panic!("a body has one span") };
    assert_eq!((hold.end(), hold.field("zklock.reason")), (["lost", "lost", "ERROR"], "node_deleted"));
}

#[tokio::test]
async fn the_callback_of_a_selector_is_inside_of_a_span() {
    let (recorder, _listening) = Recorder::listen();
    let client = Space::new().client().await;
    let selector = client.election(OFFICE).unwrap().select(|_: Leadership| async { info!("leads") });
    until(async || recorder.spans().iter().any(|span| span.is_closed), "the callback has ended").await;
    soon(selector.close()).await.unwrap();
    assert_eq!(recorder.around("leads"), Some("zklock.hold"));
    let [hold] = &recorder.take()[..] else { panic!("a callback has one span") };
    assert_eq!((hold.field("zklock.path"), hold.end()[0]), (OFFICE, "ended"));
}
