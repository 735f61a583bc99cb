//! Candidates that lead until they are closed, as in Curator's `TestLeaderLatch`, also through outages.

use std::time::Duration;

use zklock::{Config, Health, LockError, LossReason, Phase, Policy, Readiness};
use zklock_testkit::How;
use zklock_testkit::wire::Opcode;

use crate::support::{PATIENCE, Server, Space, TICK, failed, lead, soon, until};

const PATH: &str = "/sweeper";

#[tokio::test]
async fn a_candidate_without_a_server_waits_for_its_first_answer_and_has_it_later() {
    let server = Server::start();
    let client = server.client(Duration::from_secs(10)).await;
    server.pause().unwrap();
    let latch = client.leader_latch(PATH).unwrap();
    let wait = Duration::from_millis(100);
    for error in
        [failed(soon(latch.settled_timeout(wait)).await), failed(soon(latch.leadership_timeout(wait)).await)]
    {
        assert!(matches!(error, LockError::Timeout { phase: Phase::Entering, .. }), "{error}");
        assert!(!error.is_contended(), "{error}");
    }
    server.resume().unwrap();
    soon(latch.settled()).await.unwrap();
    assert!(latch.is_leader());
}

#[tokio::test]
async fn a_sole_candidate_that_pauses_for_the_handover_waits_in_its_queue_without_an_answer() {
    let client = Space::new().client().await;
    let latch = client.election(PATH).unwrap().handover(Duration::from_secs(3_600)).latch();
    let wait = Duration::from_millis(20);
    let is_queued = async || {
        let error = failed(latch.leadership_timeout(wait).await);
        matches!(error, LockError::Timeout { phase: Phase::Queued, .. })
    };
    until(is_queued, "it is first in its queue").await;
    assert!(failed(latch.settled_timeout(wait).await).is_timeout() && !latch.is_leader());
}

#[tokio::test]
async fn an_outage_ends_a_term_or_not_by_the_policy_and_the_node_stays() {
    let server = Server::start_granting(PATIENCE);
    let connect = async || server.client(PATIENCE).await;
    let careful = connect().await.election("/careful").unwrap().policy(Policy::GiveUpWhenSuspended).latch();
    let patient = connect().await.election("/patient").unwrap().latch();
    let (term, other) =
        (soon(careful.leadership()).await.unwrap(), soon(patient.leadership()).await.unwrap());
    let nodes = async || {
        let (one, two) = (careful.participants().await.unwrap(), patient.participants().await.unwrap());
        (one[0].node.clone(), two[0].node.clone())
    };
    let before = nodes().await;
    server.kill().unwrap();
    assert_eq!(soon(term.lost()).await, LossReason::Suspended);
    assert!(!careful.is_leader() && patient.is_leader());
    server.restart().unwrap();
    let again = soon(careful.leadership()).await.unwrap();
    assert!(again.fencing_token() > term.fencing_token(), "each term has an epoch of its own");
    assert!(other.is_leading());
    assert_eq!(nodes().await, before);
}

#[tokio::test]
async fn a_leader_and_a_follower_that_run_again_at_once_never_both_lead() {
    let space = Space::new();
    let ((leading, one), (following, other)) = (space.proxied().await, space.proxied().await);
    let (first, term) = lead(&one, PATH).await;
    let second = other.leader_latch(PATH).unwrap();
    soon(second.settled()).await.unwrap();
    let nobody_leads = || !first.is_leader() && !second.is_leader();

    // The follower is back in the queue before the leader's old node is gone.
    let (delete, create) =
        (leading.on_request(Opcode::DELETE).always(), following.on_request(Opcode::CREATE2).always());
    let (delete, create) = (delete.hold(), create.hold());
    term.resign();
    space.end_session_of(&other);
    soon(delete.struck()).await;
    soon(create.struck()).await;
    assert!(nobody_leads());
    create.release();
    space.until_queued(PATH, 2).await;
    assert!(nobody_leads());
    delete.release();
    let next = soon(second.leadership()).await.unwrap();
    assert!(next.fencing_token() > term.fencing_token());
    space.until_queued(PATH, 2).await;
    assert!(!first.is_leader() && !term.is_leading());

    // The leader is back in the queue before the follower is.
    let create = leading.on_request(Opcode::CREATE2).always().hold();
    space.end_session_of(&one);
    soon(create.struck()).await;
    next.resign();
    let last = soon(second.leadership()).await.unwrap();
    assert!(last.fencing_token() > next.fencing_token());
    create.release();
    space.until_queued(PATH, 2).await;
    assert!(last.is_leading() && !next.is_leading() && !first.is_leader());
    second.close().await.unwrap();
    soon(first.leadership()).await.unwrap();
}

#[tokio::test]
async fn a_latch_that_is_started_without_a_server_leads_when_there_is_one() {
    let server = Server::start();
    let config = Config::new(server.connect_string()).session_timeout(Duration::from_secs(4)).tick_time(TICK);
    server.kill().unwrap();
    let client = config.start().unwrap();
    assert!(matches!(client.readiness(), Readiness::Disconnected { .. }));
    let latch = client.leader_latch(PATH).unwrap();
    let mut changes = latch.changes();
    assert_eq!(soon(changes.next()).await, Some(false));
    let closed = client.leader_latch("/closed").unwrap();
    soon(closed.close()).await.unwrap();
    server.restart().unwrap();
    soon(latch.leadership()).await.unwrap();
    assert_eq!(soon(changes.next()).await, Some(true));
    assert_eq!(latch.participants().await.unwrap().len(), 1);
    assert!(client.mutex("/closed").unwrap().participants().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_hold_down_makes_one_change_of_many_short_outages_and_another_node_follows_a_deleted_one() {
    let (space, proxy, client) = Space::with_proxy().await;
    let election = client.election(PATH).unwrap().policy(Policy::GiveUpWhenSuspended);
    let latch = election.hold_down(Duration::from_secs(3)).latch();
    let term = soon(latch.leadership()).await.unwrap();
    for _ in 0..4 {
        let connections = proxy.connections();
        proxy.cut(How::Rst);
        let is_back = || proxy.connections() > connections && client.health() == Health::Connected;
        until(|| async { is_back() }, "the client is back").await;
    }
    assert_eq!(soon(term.lost()).await, LossReason::Suspended);
    let again = soon(latch.leadership()).await.unwrap();
    assert_eq!(again.fencing_token().zxid(), term.fencing_token().zxid(), "with the same node");
    assert_eq!(again.fencing_token().handoff(), 1);
    proxy.refuse();
    proxy.cut(How::Rst);
    assert_eq!(soon(again.lost()).await, LossReason::Suspended);
    space.delete_children(PATH).await;
    proxy.heal();
    let last = soon(latch.leadership()).await.unwrap();
    assert!(last.fencing_token().zxid() > again.fencing_token().zxid(), "with another node");
    assert_eq!(space.children(PATH).await.len(), 1);
}
