//! The spans in which bodies run, and those of calls that wait to lead.

use std::thread;
use std::time::Duration;

use tracing::{Instrument, info, info_span};
use zklock::{Client, Leadership, LockError, distributed_lock, leader_only};

use super::{PATH, Recorder, only_wait, pair};
use crate::support::{Space, failed, soon, until};

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
    let latch = first.leader_latch(OFFICE).unwrap();
    let term = soon(latch.leadership()).await.unwrap();
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
