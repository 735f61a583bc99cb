//! The threads on which a subscriber is called for spans: never that of a client.

use std::time::Duration;

use tokio::task::JoinSet;
use zklock_testkit::How;

use super::Recorder;
use crate::events::sums::call;
use crate::support::random::Random;
use crate::support::{Space, soon};

#[tokio::test]
async fn spans_are_opened_filled_and_closed_on_the_threads_of_their_callers() {
    let (recorder, _listening) = Recorder::listen();
    let (proxy, client) = Space::new().proxied().await;
    let mut random = Random::new(7);
    let mut tasks = JoinSet::new();
    for _ in 0..10 {
        let (client, mut random) = (client.clone(), random.fork());
        tasks.spawn(async move {
            for _ in 0..20 {
                call(&client, &mut random).await.ok();
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
    let latch = client.leader_latch("/leader").unwrap();
    let term = soon(latch.leadership()).await.unwrap();
    term.run(async {}).await.unwrap();
    let lost = client.mutex("/lost").unwrap().lock().await.unwrap();
    soon(client.shutdown(Duration::ZERO)).await;
    drop((lost, term, latch));
    let here = std::thread::current().name().unwrap_or_default().to_owned();
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
