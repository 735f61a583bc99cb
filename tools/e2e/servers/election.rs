//! Three servers, one of which is killed. Only real servers replicate.

use std::future::pending;
use std::time::Duration;

use zklock::{Config, LossReason, Policy};
use zklock_testkit::{Ensemble, ZooKeeper};

use crate::support::{TICK, soon};

const PATH: &str = "/sweeper";
/// A session timeout that outlasts the election of a leader among three servers on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_selector_whose_own_server_is_killed_leads_again_by_another_one() {
    let ensemble = Ensemble::builder().tick_time(TICK).max_session_timeout(PATIENCE).start().unwrap();
    let config = Config::new(ensemble.connect_string()).session_timeout(PATIENCE).tick_time(TICK);
    let client = config.default_wait(PATIENCE).connect().await.expect("the ensemble accepts a client");
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
