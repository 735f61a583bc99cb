//! Calls to candidates that are repeated or too late, and candidates that the servers refuse for a while.

use std::future::pending;
use std::time::{Duration, Instant};

use zklock::{Client, Ended, LeaderLatch, LockError, Permission, Standing};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;
use zookeeper_client as zk;

use super::select;
use crate::support::{SOON, Space, failed, lead, soon, until};

const PATH: &str = "/sweeper";

#[tokio::test]
async fn selector_that_is_requeued_twice_runs_once_more() {
    let space = Space::new();
    let (selector, mut terms) = select(space.client().await.election(PATH).unwrap());
    let first = soon(terms.recv()).await.unwrap();
    assert!(selector.requeue() && !selector.requeue());
    selector.interrupt();
    let second = soon(terms.recv()).await.unwrap();
    assert!(second.fencing_token() > first.fencing_token());
    selector.interrupt();
    // A candidate that runs again would be back by the time another one has led.
    space.until_empty(PATH).await;
    let _leads = lead(&space.client().await, "/other").await;
    assert_eq!(space.children(PATH).await, [""; 0]);
    assert!(terms.try_recv().is_err());
    assert!(matches!(selector.close().await.unwrap(), Ended::Closed));
}

#[tokio::test]
async fn two_latches_of_one_client_are_two_candidates() {
    let client = Space::new().client().await;
    let (first, _term) = lead(&client, PATH).await;
    let second = client.leader_latch(PATH).unwrap();
    soon(second.settled()).await.unwrap();
    assert!(first.is_leader() && !second.is_leader());
    let standings: Vec<_> = first.participants().await.unwrap().iter().map(|one| one.standing).collect();
    assert_eq!(standings, [Standing::Holds, Standing::Waits]);
    first.close().await.unwrap();
    soon(second.leadership()).await.unwrap();
}

#[tokio::test]
async fn candidates_that_are_closed_or_dropped_after_their_client_have_ended_already() {
    let (space, client) = Space::with_client().await;
    let (latch, dropped) = (client.leader_latch("/a").unwrap(), client.leader_latch("/b").unwrap());
    let selector = client.election("/c").unwrap().select(|_| pending::<()>());
    let leader = client.leader("/d").unwrap();
    soon(leader.join()).await.unwrap();
    // The callback does not end.
    soon(client.shutdown(Duration::ZERO)).await;
    soon(latch.close()).await.unwrap();
    assert!(!selector.has_leadership());
    assert!(matches!(soon(selector.close()).await.unwrap(), Ended::Closed));
    drop(dropped);
    assert!(!leader.is_leader());
    assert!(failed(soon(leader.join()).await).is_closed());
    assert!(failed(soon(client.leader_latch("/a").unwrap().leadership()).await).is_closed());
    for path in ["/a", "/b", "/c", "/d"] {
        space.until_withdrawn(path).await;
    }
}

/// Asks candidates below a node that denies them, and selectors that run once, three times each.
async fn ask_in_vain(client: &Client, latch: &LeaderLatch) {
    let selector = client.election("/closed/b").unwrap().select(|_| pending::<()>());
    let leader = client.leader("/closed/c").unwrap();
    for _ in 0..3 {
        assert!(matches!(failed(soon(latch.leadership()).await), LockError::Denied { .. }));
        assert!(matches!(failed(soon(latch.settled()).await), LockError::Denied { .. }));
        assert!(matches!(soon(selector.ended()).await, Ended::Failed(LockError::Denied { .. })));
        assert!(matches!(failed(soon(leader.leadership()).await), LockError::Denied { .. }));
        assert!(matches!(failed(soon(leader.term()).await), LockError::Denied { .. }));
        assert!(matches!(failed(soon(leader.join()).await), LockError::Denied { .. }));
    }
}

/// Returns the number of requests without pings, which are sent automatically.
fn requests(proxy: &Proxy) -> u64 {
    proxy.requests_total() - proxy.requests(Opcode::PING)
}

#[tokio::test]
async fn a_denied_candidate_asks_again_after_pauses_that_grow() {
    let space = Space::new();
    let owner = close_path(&space).await;
    let (proxy, client) = space.proxied().await;
    let (before, started) = (requests(&proxy), Instant::now());
    let latch = client.leader_latch("/closed/a").unwrap();
    ask_in_vain(&client, &latch).await;
    // Each of these is a round trip, during which a candidate that retries without a pause would send a
    // request.
    for _ in 0..500 {
        soon(owner.list_children(&space.full("/closed"))).await.unwrap();
    }
    let denied = requests(&proxy) - before;
    // The pauses double from at least 50 ms.
    let attempts = (started.elapsed().as_millis() / 50 + 1).ilog2() + 1;
    let most = 3 * MOST * u64::from(attempts);
    assert!(denied <= most, "three candidates sent {denied} requests in {attempts} attempts");
}

/// The most requests of one attempt: twice a create, a list and the creation of the parents.
const MOST: u64 = 6;

const CLOSED: &str = "/closed/leader";

/// Creates a node below which only the client that is returned may create nodes.
async fn close_path(space: &Space) -> zk::Client {
    space.restrict("/closed", zk::Permission::READ).await
}

async fn open_path(space: &Space, owner: &zk::Client) {
    owner.set_acl(&space.full("/closed"), &zk::Acls::anyone_all(), None).await.unwrap();
}

#[tokio::test]
async fn candidates_that_were_denied_lead_once_they_are_permitted() {
    let space = Space::new();
    let owner = close_path(&space).await;
    let client = space.client().await;
    let (latch, leader) = (client.leader_latch(CLOSED).unwrap(), client.leader("/closed/c").unwrap());
    ask_in_vain(&client, &latch).await;
    for failure in [latch.failure(), leader.failure()] {
        let lacks_create =
            matches!(failure, Some(LockError::Denied { permission: Some(Permission::Create), .. }));
        assert!(lacks_create, "{failure:?}");
    }
    assert!(!latch.is_leader() && latch.current().is_none());
    let mut changes = latch.changes();
    assert_eq!(soon(changes.next()).await, Some(false));
    open_path(&space, &owner).await;
    assert_eq!(soon(changes.next()).await, Some(true), "it leads");
    soon(latch.leadership()).await.unwrap();
    soon(latch.settled()).await.unwrap();
    until(|| async { leader.term().await.is_ok_and(|term| term.is_some()) }, "it leads").await;
    assert!(latch.failure().is_none() && leader.failure().is_none());
    assert!(client.leader("/closed/c").unwrap().join().await.unwrap());
    assert_eq!(space.children("/closed/c").await.len(), 1);
    soon(latch.close()).await.unwrap();
    assert_eq!((soon(changes.next()).await, soon(changes.next()).await), (Some(false), None));
    space.until_empty(CLOSED).await;
}

#[tokio::test]
async fn a_candidate_that_waits_to_try_again_ends_at_once_when_it_is_closed() {
    let space = Space::new();
    close_path(&space).await;
    let client = space.client().await;
    let (latch, other) = (client.leader_latch(CLOSED).unwrap(), client.leader_latch(CLOSED).unwrap());
    let selector = client.election("/closed/b").unwrap().auto_requeue().select(|_| pending::<()>());
    until(|| async { selector.last_failure().is_some() }, "it is refused").await;
    failed(soon(latch.leadership()).await);
    failed(soon(other.leadership()).await);
    soon(latch.close()).await.unwrap();
    soon(selector.close()).await.unwrap();
    soon(client.shutdown(SOON * 10)).await;
    assert!(failed(soon(other.leadership()).await).is_closed());
}

#[tokio::test]
async fn a_candidate_that_is_elected_after_a_refusal_follows_until_the_handover_is_over() {
    let space = Space::new();
    let owner = close_path(&space).await;
    let election = space.client().await.election(CLOSED).unwrap();
    let latch = election.handover(Duration::from_secs(3_600)).latch();
    failed(soon(latch.leadership()).await);
    assert!(latch.failure().is_some());
    open_path(&space, &owner).await;
    until(|| async { latch.failure().is_none() }, "it is no longer refused").await;
    assert!(!latch.is_leader());
    soon(latch.settled()).await.unwrap();
    soon(latch.close()).await.unwrap();
}
