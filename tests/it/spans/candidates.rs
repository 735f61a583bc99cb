//! The spans of calls that wait to lead, and of bodies under a term.

use std::time::Duration;

use tracing::info;
use zklock::Leadership;

use super::{Recorder, pair};
use crate::support::{Space, failed, soon, until};

const PATH: &str = "/sweeper";

#[tokio::test]
async fn a_call_that_waits_to_lead_has_a_span_and_so_has_each_body_under_the_term() {
    let (recorder, _listening) = Recorder::listen();
    let (space, [first, second]) = Space::with_clients().await;
    let latch = first.leader_latch(PATH).unwrap();
    let term = soon(latch.leadership()).await.unwrap();
    let token = term.fencing_token().to_string();
    term.run(async { info!("under the term") }).await.unwrap();
    assert_eq!(recorder.around("under the term"), Some("zklock.hold"));
    for (span, outcome) in pair(recorder.take()).iter().zip(["acquired", "ended"]) {
        assert_eq!(span.end(), [outcome, "", ""]);
        let fields = ["zklock.path", "zklock.name", "zklock.kind", "zklock.token"];
        assert_eq!(fields.map(|name| span.field(name)), [PATH, "unnamed", "leader", &token]);
    }

    let other = second.leader_latch(PATH).unwrap();
    failed(other.leadership_timeout(Duration::from_millis(50)).await);
    assert_eq!(super::only_wait(&recorder).end(), ["timed_out", "timed_out", "ERROR"]);

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
    let (ended, ()) = tokio::join!(body, space.delete_first_child(PATH));
    failed(ended);
    let [hold] = &recorder.take()[..] else { panic!("a body has one span") };
    assert_eq!((hold.end(), hold.field("zklock.reason")), (["lost", "lost", "ERROR"], "node_deleted"));
}

#[tokio::test]
async fn the_callback_of_a_selector_is_inside_of_a_span() {
    let (recorder, _listening) = Recorder::listen();
    let client = Space::new().client().await;
    let selector = client.election(PATH).unwrap().select(|_: Leadership| async { info!("leads") });
    until(async || recorder.spans().iter().any(|span| span.is_closed), "the callback has ended").await;
    soon(selector.close()).await.unwrap();
    assert_eq!(recorder.around("leads"), Some("zklock.hold"));
    let [hold] = &recorder.take()[..] else { panic!("a callback has one span") };
    assert_eq!((hold.field("zklock.path"), hold.end()[0]), (PATH, "ended"));
}
