//! A server that goes on after a pause with messages that its client has given up.

use zklock::Config;
use zklock_testkit::{Ensemble, Proxy};
use zookeeper_client as zk;

use crate::support::{TICK, lock, soon, spawn_lock, until};

const PATH: &str = "/late";
/// About every second round has a node that is created late.
const ROUNDS: usize = 30;

/// A follower stops. The client sends it a create, gives the connection up, tries in vain to connect again, and goes to another
/// server. It has had the lock there when the follower goes on. Returns whether that creates one more node.
async fn is_created_late(ensemble: &Ensemble) -> bool {
    let (leader, followers) = (ensemble.leader().unwrap(), ensemble.followers().unwrap());
    let other = Proxy::start(followers[1].address()).unwrap();
    other.refuse();
    // Several addresses of the follower, so that one of them is tried first.
    let stopped = [0; 4].map(|_| Proxy::start(followers[0].address()).unwrap());
    let servers = [stopped.each_ref().map(Proxy::connect_string).join(","), other.connect_string().into()];
    let config = Config::new(servers.join(",")).session_timeout(20 * TICK).tick_time(TICK);
    let client = config.sync_limit(40 * TICK).connect().await.unwrap();
    lock(&client, PATH).await.release().await.unwrap();
    let tries = || stopped.iter().map(Proxy::connections).sum::<u64>();
    let before = tries();
    followers[0].pause().unwrap();
    let locking = spawn_lock(&client, PATH);
    until(async || tries() > before, "the client tries to connect again").await;
    other.heal();
    soon(locking).await.unwrap().release().await.unwrap();

    let outsider = zk::Client::connect(leader.connect_string()).await.unwrap();
    let changes = async || outsider.get_data(PATH).await.unwrap().1.cversion;
    let before = changes().await;
    followers[0].resume().unwrap();
    // Its session is opened behind the messages that the follower had before.
    drop(zk::Client::connect(followers[0].connect_string()).await.unwrap());
    let is_late = changes().await != before;
    let is_empty = async || outsider.list_children(PATH).await.unwrap().is_empty();
    until(is_empty, "no node is left").await;
    is_late
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_created_late_by_a_server_that_stood_still_is_deleted() {
    let ensemble = Ensemble::builder().tick_time(TICK).sync_limit(40).start().unwrap();
    let mut rounds = 0..ROUNDS;
    while rounds.next().is_some() {
        if is_created_late(&ensemble).await {
            return;
        }
    }
    panic!("no server creates a node late");
}
