//! Elections while servers are stopped, killed and restarted.

use std::future::pending;
use std::time::Duration;

use zklock::{Config, Health, LossReason, Policy, Readiness};
use zklock_testkit::How;
use zookeeper_client as zk;

use crate::support::{PATIENCE, Server, Space, TICK, soon, until};

const PATH: &str = "/sweeper";

async fn children(server: &Server) -> usize {
    match server.outsider().await.list_children(PATH).await {
        Err(zk::Error::NoNode) => 0,
        listed => listed.expect("the server lists").len(),
    }
}

#[tokio::test]
async fn an_interruption_during_an_outage_leaves_no_node_afterwards() {
    let server = Server::start_granting(PATIENCE);
    let client = server.client(PATIENCE).await;
    let election = client.election(PATH).unwrap().policy(Policy::GiveUpWhenLost);
    let selector = election.select(|_| pending::<()>());
    until(|| async { selector.has_leadership() }, "it leads").await;
    server.kill().unwrap();
    until(|| async { client.health() == Health::Suspended }, "the client notices").await;
    assert!(selector.has_leadership());
    selector.interrupt();
    assert!(!selector.has_leadership());
    server.restart().unwrap();
    until(|| async { children(&server).await == 0 }, "the node is gone").await;
}

#[tokio::test]
async fn ten_candidates_lose_their_leader_with_the_server_and_have_one_when_it_is_back() {
    let server = Server::start_granting(PATIENCE);
    let mut latches = Vec::new();
    for _ in 0..10 {
        let election = server.client(PATIENCE).await.election(PATH).unwrap();
        latches.push(election.policy(Policy::GiveUpWhenSuspended).latch());
    }
    let leaders = || latches.iter().filter(|latch| latch.is_leader()).count();
    until(|| async { leaders() == 1 && children(&server).await == 10 }, "one leads").await;
    server.kill().unwrap();
    until(|| async { leaders() == 0 }, "nobody leads").await;
    server.restart().unwrap();
    until(|| async { leaders() == 1 }, "one leads again").await;
    assert_eq!(children(&server).await, 10);
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
async fn a_hold_down_makes_one_change_of_many_short_outages() {
    const HOLD_DOWN: Duration = Duration::from_secs(3);
    let (proxy, client) = Space::new().proxied().await;
    let election = client.election(PATH).unwrap().policy(Policy::GiveUpWhenSuspended);
    let latch = election.hold_down(HOLD_DOWN).latch();
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
}

#[tokio::test]
async fn a_leader_whose_node_is_deleted_while_it_is_cut_off_runs_again_with_one_node() {
    let (space, proxy, client) = Space::with_proxy().await;
    let latch = client.election(PATH).unwrap().policy(Policy::GiveUpWhenSuspended).latch();
    let term = soon(latch.leadership()).await.unwrap();
    proxy.refuse();
    proxy.cut(How::Rst);
    assert_eq!(soon(term.lost()).await, LossReason::Suspended);
    space.delete_children(PATH).await;
    proxy.heal();
    let again = soon(latch.leadership()).await.unwrap();
    assert!(again.fencing_token().zxid() > term.fencing_token().zxid(), "with another node");
    assert_eq!(space.children(PATH).await.len(), 1);
}
