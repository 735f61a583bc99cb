//! The events of many candidates add up, whatever happens to the candidates.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use zklock_testkit::How;

use super::Listener;
use crate::local_queue::stress::delete_a_child;
use crate::support::{Space, lead, soon, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_term_of_many_candidates_begins_and_ends_once() {
    let (space, proxy, client) = Space::with_proxy().await;
    let listener = Listener::start(&client);
    let mut candidates = JoinSet::new();
    for nth in 0..5 {
        let client = client.clone();
        candidates.spawn(async move {
            for _ in 0..6 {
                let latch = client.election("/sums/leader").unwrap().latch();
                let Ok(term) = soon(latch.leadership()).await else { continue };
                match nth {
                    0 => term.resign(),
                    1 => drop(latch.close().await),
                    _ => drop(latch),
                }
            }
        });
    }
    let selector = client.election("/sums/selector").unwrap().auto_requeue();
    let selector = selector.select(|_| async { sleep(Duration::from_millis(1)).await });
    let faults = async {
        loop {
            sleep(Duration::from_millis(150)).await;
            proxy.cut(How::Rst);
            sleep(Duration::from_millis(150)).await;
            delete_a_child(&space, "/sums/selector").await;
        }
    };
    tokio::select! {
        _ = candidates.join_all() => {}
        () = faults => {}
    }
    let (latch, term) = lead(&client, "/sums/lost").await;
    space.delete_children("/sums/lost").await;
    soon(term.lost()).await;
    // A term keeps its client.
    drop((term, latch));
    until(async || client.readiness().is_ready(), "the client is connected").await;
    space.end_session_of(&client);
    soon(selector.close()).await.unwrap();
    client.shutdown(Duration::from_secs(20)).await;
    drop(client);
    let ledger = listener.end().await;
    ledger.check();
    // The selector is a new candidate in each of its terms.
    assert!(ledger.count(&["Begun"]) >= 32, "{ledger:?}");
    for name in ["Elected", "Resigned", "Lost", "Withdrawn"] {
        assert!(ledger.count(&[name]) > 0, "no candidate has {name}: {ledger:?}");
    }
}
