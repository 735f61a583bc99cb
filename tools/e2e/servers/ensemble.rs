//! Several servers, one of which lags behind the others. Only real servers replicate.

use std::time::Instant;

use zklock::{Client, Config};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Direction, Ensemble, How, Proxy, ZooKeeper};
use zookeeper_client as zk;

use crate::support::{TICK, lock, soon, spawn_lock, until};

const PATH: &str = "/fleet";
/// The number of ticks for which a paused follower keeps its place in the ensemble.
const SYNC_LIMIT: u32 = 40;

/// Connects a client to the first of two servers. The proxy of the other one refuses connections at first.
async fn between(servers: [&ZooKeeper; 2]) -> ([Proxy; 2], Client) {
    let [near, far] = servers.map(|server| Proxy::start(server.address()).unwrap());
    far.refuse();
    let config = Config::new(format!("{},{}", near.connect_string(), far.connect_string()));
    let config = config.session_timeout(20 * TICK).tick_time(TICK).sync_limit(SYNC_LIMIT * TICK);
    let client = config.connect().await.unwrap();
    lock(&client, PATH).await.release().await.unwrap();
    ([near, far], client)
}

/// Cuts a client off from the first of two servers while that creates a contender, and lets it find the contender at the
/// other one. Some servers stand still until the client turns there. Returns the proxy of the other server.
async fn assert_found(servers: [&ZooKeeper; 2], paused: &[&ZooKeeper], is_committed: bool) -> Proxy {
    let ([near, far], client) = between(servers).await;
    let creates = || near.requests(Opcode::CREATE2) + far.requests(Opcode::CREATE2);
    let before = creates();
    paused.iter().for_each(|server| server.pause().unwrap());
    let lost = near.on_reply(Opcode::CREATE2).cut(How::Fin);
    let locking = spawn_lock(&client, PATH);
    until(|| async { creates() > before && (lost.hits() > 0 || !is_committed) }, "it is being created").await;
    near.refuse();
    near.cut(How::Rst);
    far.heal();
    // A leader answers nothing in this session before it has committed the contender.
    until(|| async { far.requests(Opcode::CREATE_SESSION) > 0 }, "the client turns to the other one").await;
    paused.iter().for_each(|server| server.resume().unwrap());

    let guard = soon(locking).await.unwrap();
    assert_eq!(creates() - before, 1, "no second node");
    assert_eq!(client.mutex(PATH).unwrap().participants().await.unwrap().len(), 1);
    guard.verify().await.unwrap();
    guard.release().await.unwrap();
    far
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contender_that_was_created_is_found_by_way_of_a_server_that_lags_behind() {
    let ensemble = Ensemble::builder().tick_time(TICK).sync_limit(SYNC_LIMIT).start().unwrap();
    let (leader, follower) = (ensemble.leader().unwrap(), ensemble.followers().unwrap()[0]);
    let far = assert_found([leader, follower], &[follower], true).await;
    assert!(far.requests(Opcode::MULTI) > 0, "the follower was made to catch up");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contender_whose_creation_is_not_committed_yet_is_found_by_way_of_the_leader() {
    let ensemble = Ensemble::builder().servers(5).tick_time(TICK).sync_limit(SYNC_LIMIT).start().unwrap();
    let (leader, followers) = (ensemble.leader().unwrap(), ensemble.followers().unwrap());
    // Two of five servers are no quorum, so the leader proposes the contender, and cannot commit it.
    assert_found([followers[0], leader], &followers[1..], false).await;
}

/// Cuts the link between a holder and its server, a follower, or between that server and the leader, and returns once the
/// lock has gone to a client of the leader. The follower answers reads for twice the session timeout.
async fn assert_told_first(cut: impl FnOnce(&Ensemble, &ZooKeeper, &Proxy)) {
    let ensemble = Ensemble::builder().tick_time(TICK).sync_limit(20).separable().start().unwrap();
    let (leader, follower) = (ensemble.leader().unwrap(), ensemble.followers().unwrap()[0]);
    let proxy = Proxy::start(follower.address()).unwrap();
    let connect = async |servers: &str| {
        let config = Config::new(servers).session_timeout(10 * TICK).tick_time(TICK).sync_limit(20 * TICK);
        config.connect().await.unwrap()
    };
    let (holder, waiter) = (connect(proxy.connect_string()).await, connect(leader.connect_string()).await);
    let guard = lock(&holder, PATH).await;
    let waiting = tokio::spawn(async move { (lock(&waiter, PATH).await, Instant::now()) });
    let participants = async || holder.mutex(PATH).unwrap().participants().await.unwrap().len();
    until(|| async { participants().await == 2 }, "the other client waits").await;
    cut(&ensemble, follower, &proxy);
    let told = tokio::spawn(async move {
        guard.lost().await;
        Instant::now()
    });
    let (told, (_, granted)) = (soon(told).await.unwrap(), soon(waiting).await.unwrap());
    assert!(told < granted, "{:?} too late", told - granted);
    ensemble.join(follower);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_whose_link_is_cut_is_told_before_the_lock_is_handed_on() {
    assert_told_first(|_, _, proxy| proxy.blackhole(Direction::Both)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_whose_server_is_cut_off_from_the_leader_is_told_before_the_lock_is_handed_on() {
    assert_told_first(|ensemble, follower, _| ensemble.separate(follower)).await;
}

/// The reason why the core does not rely on `sync` (`ProposalRequestProcessor`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_answers_a_sync_before_earlier_writes_are_committed_and_a_transaction_after_them() {
    let ensemble = Ensemble::builder().tick_time(TICK).sync_limit(SYNC_LIMIT).start().unwrap();
    let (leader, followers) = (ensemble.leader().unwrap(), ensemble.followers().unwrap());
    let connect = async || zk::Client::connect(leader.connect_string()).await.unwrap();
    let (writer, reader) = (connect().await, connect().await);
    followers.iter().for_each(|follower| follower.pause().unwrap());
    let options = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
    let writing = tokio::spawn(async move { writer.create("/written", b"", &options).await.map(drop) });
    let mut check = reader.new_multi_writer();
    check.add_check_version("/", -1).unwrap();
    let is_there = async || reader.check_stat("/written").await.unwrap().is_some();
    soon(reader.sync("/")).await.unwrap();
    assert!(!is_there().await && !writing.is_finished());
    let committed = check.commit();
    followers.iter().for_each(|follower| follower.resume().unwrap());
    soon(committed).await.unwrap();
    assert!(is_there().await);
    soon(writing).await.unwrap().unwrap();
}
