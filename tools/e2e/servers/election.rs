//! Three servers, some or all of which are killed. Only real servers replicate.

use std::future::pending;
use std::time::Duration;

use zklock::{Client, Config, LeaderLatch, LossReason, Policy};
use zklock_testkit::{Ensemble, ZooKeeper};

use crate::support::{TICK, soon, until};

const PATH: &str = "/sweeper";
/// A session timeout that outlasts the election of a leader among three servers on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

async fn connect(ensemble: &Ensemble, session: Duration) -> Client {
    let config = Config::new(ensemble.connect_string()).session_timeout(session).tick_time(TICK);
    config.default_wait(PATIENCE).connect().await.expect("the ensemble accepts a client")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_three_leads_again_each_time_the_servers_lost_their_leader() {
    let ensemble = Ensemble::builder().tick_time(TICK).max_session_timeout(PATIENCE).start().unwrap();
    let mut latches = Vec::new();
    for _ in 0..3 {
        let election = connect(&ensemble, PATIENCE).await.election(PATH).unwrap();
        latches.push(election.policy(Policy::GiveUpWhenSuspended).latch());
    }
    let leaders = || latches.iter().filter(|latch| latch.is_leader()).count();
    until(|| async { leaders() == 1 }, "one leads").await;
    let epoch = || latches.iter().filter_map(LeaderLatch::current).map(|term| term.fencing_token()).max();
    for _ in 0..2 {
        let before = epoch();
        let server = ensemble.leader().unwrap();
        server.kill().unwrap();
        until(|| async { leaders() == 1 && epoch() > before }, "one leads again").await;
        // A candidate that was suspended may be about to enter again.
        let participants = || async { latches[0].participants().await.is_ok_and(|nodes| nodes.len() == 3) };
        until(participants, "no node is left over").await;
        server.restart().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_selector_whose_own_server_is_killed_leads_again_by_another_one() {
    let ensemble = Ensemble::builder().tick_time(TICK).max_session_timeout(PATIENCE).start().unwrap();
    let client = connect(&ensemble, PATIENCE).await;
    let (tell, mut terms) = tokio::sync::mpsc::unbounded_channel();
    let election = client.election(PATH).unwrap().auto_requeue().policy(Policy::GiveUpWhenSuspended);
    let selector = election.select(move |term| {
        tell.send(term).unwrap();
        pending::<()>()
    });
    let first = soon(terms.recv()).await.unwrap();
    let session = client.session_id();
    let own = format!("sid={:#x}", session.unwrap());
    let serves = |server: &&ZooKeeper| server.four_letter("cons").unwrap().contains(&own);
    ensemble.servers().iter().find(serves).unwrap().kill().unwrap();
    assert_eq!(soon(first.lost()).await, LossReason::Suspended);
    let second = tokio::time::timeout(PATIENCE, terms.recv()).await.unwrap().unwrap();
    assert!(second.fencing_token() > first.fencing_token());
    assert!(second.is_leading() && !first.is_leading() && selector.has_leadership());
    assert_eq!(client.session_id(), session, "the session went on");
    assert_eq!(soon(selector.participants()).await.unwrap().len(), 1);
    selector.close().await.unwrap();
}
