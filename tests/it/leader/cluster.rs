//! Three servers, of which some or all are killed. Only real ones replicate each other.

use std::future::pending;
use std::time::Duration;

use zklock::{Client, Config, Health, LeaderLatch, Policy};
use zklock_testkit::Ensemble;

use crate::support::{TICK, soon, until};

const PATH: &str = "/sweeper";
/// Outlasts the election of a leader among three servers on a busy machine.
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
        latches.push(connect(&ensemble, PATIENCE).await.leader_latch(PATH).unwrap());
    }
    let leaders = || latches.iter().filter(|latch| latch.is_leader()).count();
    until(|| async { leaders() == 1 }, "one leads").await;
    let epoch = || latches.iter().filter_map(LeaderLatch::current).map(|term| term.fencing_token()).max();
    for _ in 0..2 {
        let before = epoch();
        let server = ensemble.leader().unwrap();
        server.kill().unwrap();
        until(|| async { leaders() == 1 && epoch() > before }, "one leads again").await;
        assert_eq!(latches[0].participants().await.unwrap().len(), 3, "no node is left over");
        server.restart().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_selector_leads_again_after_its_server_or_all_of_them_were_killed() {
    let ensemble = Ensemble::builder().tick_time(TICK).start().unwrap();
    let client = connect(&ensemble, Duration::from_secs(5)).await;
    let election = client.election(PATH).unwrap().policy(Policy::GiveUpWhenLost);
    let selector = election.select(|_| pending::<()>());
    until(|| async { selector.has_leadership() }, "it leads").await;
    ensemble.servers().iter().for_each(|server| server.kill().unwrap());
    until(|| async { !selector.has_leadership() }, "it leads no more").await;
    until(|| async { client.health() == Health::Lost }, "the session is over").await;
    assert!(selector.requeue());
    ensemble.restart().unwrap();
    until(|| async { selector.has_leadership() }, "it leads again").await;
    assert_eq!(soon(selector.participants()).await.unwrap().len(), 1);
    selector.close().await.unwrap();
}
