//! Values of a term that are kept after the term: they keep nothing of it on the servers or on the client.

use std::time::{Duration, Instant};

use zklock::LossReason;
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;

use crate::support::{Space, soon, until};

const PATH: &str = "/sweeper";

/// Returns the number of requests for leases, which are their heartbeats while nothing else is done. A session without
/// leases sends pings, and reads of the root.
fn heartbeats(proxy: &Proxy) -> u64 {
    proxy.requests_total() - proxy.requests(Opcode::PING) - proxy.requests(Opcode::EXISTS)
}

/// Checks that the client behind the proxy sends no heartbeat of a lease while another client, which leads, sends several.
/// One that is under way may be sent in the first two of three such periods.
async fn assert_no_heartbeats(space: &Space, proxy: &Proxy) {
    let (witness, other) = space.proxied().await;
    let latch = other.leader_latch("/witness").unwrap();
    soon(latch.leadership()).await.unwrap();
    let mut sent = Vec::new();
    while sent.len() < 3 && sent.last() != Some(&0) {
        let (before, seen) = (heartbeats(proxy), heartbeats(&witness));
        until(|| async { heartbeats(&witness) >= seen + 5 }, "a leader sends heartbeats").await;
        sent.push(heartbeats(proxy) - before);
    }
    assert_eq!(sent.last(), Some(&0), "a client without a lease sends heartbeats: {sent:?}");
}

#[tokio::test]
async fn a_term_that_is_kept_after_its_latch_was_closed_costs_no_heartbeats() {
    let space = Space::quick();
    let (proxy, client) = space.proxied().await;
    let latch = client.leader_latch(PATH).unwrap();
    let term = soon(latch.leadership()).await.unwrap();
    latch.close().await.unwrap();
    assert_no_heartbeats(&space, &proxy).await;
    assert_eq!(soon(term.lost()).await, LossReason::Resigned);
}

#[tokio::test]
async fn a_guard_that_is_kept_after_its_node_was_deleted_costs_no_heartbeats() {
    let space = Space::quick();
    let (proxy, client) = space.proxied().await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    // One that listens looks at its node again and again.
    guard.on_revoke(|| ());
    space.delete_children(PATH).await;
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
    assert_no_heartbeats(&space, &proxy).await;
    assert!(!guard.is_held());
}

#[tokio::test]
async fn a_term_that_is_kept_after_its_latch_was_closed_does_not_delay_a_shutdown() {
    let space = Space::new();
    let mut fastest = Duration::MAX;
    for _ in 0..3 {
        let client = space.client().await;
        let latch = client.leader_latch(PATH).unwrap();
        let term = soon(latch.leadership()).await.unwrap();
        latch.close().await.unwrap();
        let started = Instant::now();
        soon(client.shutdown(Duration::ZERO)).await;
        fastest = fastest.min(started.elapsed());
        assert!(!term.is_leading());
    }
    // A client that waits for a lease waits for two seconds each time.
    assert!(fastest < Duration::from_secs(1), "each shutdown took {fastest:?} or longer");
}
