//! Several servers, one of which lags behind the others. Only real servers replicate.

use std::time::Duration;

use zklock::{Client, Config, MutexGuard};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Ensemble, How, Proxy};

use crate::support::{TICK, soon, until};

const PATH: &str = "/fleet";

async fn lock(client: &Client) -> MutexGuard {
    client.mutex(PATH).unwrap().lock_timeout(Duration::MAX).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contender_that_was_created_is_found_by_way_of_a_server_that_lags_behind() {
    /// The number of ticks for which a paused follower keeps its place in the ensemble.
    const SYNC_LIMIT: u32 = 40;
    let ensemble = Ensemble::builder().tick_time(TICK).sync_limit(SYNC_LIMIT).start().unwrap();
    let (leader, follower) = (ensemble.leader().unwrap(), ensemble.followers().unwrap()[0]);
    let [near, far] = [leader, follower].map(|server| Proxy::start(server.address()).unwrap());
    far.refuse();
    let config = Config::new(format!("{},{}", near.connect_string(), far.connect_string()));
    let config = config.session_timeout(20 * TICK).tick_time(TICK).sync_limit(SYNC_LIMIT * TICK);
    let client = config.connect().await.unwrap();
    lock(&client).await.release().await.unwrap();

    let creates = || near.requests(Opcode::CREATE2) + far.requests(Opcode::CREATE2);
    let before = creates();
    follower.pause().unwrap();
    let lost = near.on_reply(Opcode::CREATE2).cut(How::Fin);
    let locking = tokio::spawn({
        let client = client.clone();
        async move { lock(&client).await }
    });
    soon(lost.struck()).await;
    near.refuse();
    near.cut(How::Rst);
    far.heal();
    until(|| async { far.requests(Opcode::CREATE_SESSION) > 0 }, "the client turns to the follower").await;
    follower.resume().unwrap();

    let guard = soon(locking).await.unwrap();
    assert!(far.requests(Opcode::SYNC) > 0, "the follower was told to catch up");
    assert_eq!(creates() - before, 1, "no second node");
    assert_eq!(client.mutex(PATH).unwrap().participants().await.unwrap().len(), 1);
    guard.verify().await.unwrap();
    guard.release().await.unwrap();
}
