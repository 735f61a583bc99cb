//! Nodes that a server has and does not list (ZOOKEEPER-4846). Since 3.8.5 and 3.9.4, a server that replays
//! transactions over a fuzzy snapshot does not link a child whose parent was deleted and created again meanwhile. The
//! holder of a lock must be told then, because the next contender does not see its node.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinSet, block_in_place};
use tokio::time::sleep;
use zklock::{Client, Config, Health, LeaseState, MutexGuard};
use zklock_testkit::{Ensemble, How, Proxy, ZooKeeper};
use zookeeper_client as zk;

use crate::release::zookeeper_3_9_4;
use crate::support::{TICK, soon, until};

const CLIENTS: usize = 8;
const TASKS: usize = 50;
const ROUNDS: usize = 20;
/// Longer than the restart of a server on a busy machine.
const SESSION: Duration = Duration::from_secs(60);
/// The data that makes a snapshot last: nodes, and bytes of each.
const BALLAST: (usize, usize) = (2_000, 10_000);

/// The settings with which servers take snapshots all the time, which may have any name, and delete queues as soon as
/// they are empty.
const SETTINGS: [(&str, &str); 4] = [
    ("zookeeper.serializeLastProcessedZxid.enabled", "false"),
    ("zookeeper.snapCount", "1000"),
    ("znode.container.checkIntervalMs", "20"),
    ("znode.container.maxPerMinute", "600000"),
];

/// The locks that tasks hold, by their paths.
type Held = Arc<Mutex<BTreeMap<String, Arc<MutexGuard>>>>;

/// Tasks that take and release a lock each, at paths of their own.
struct Churn {
    held: Held,
    is_going_on: watch::Sender<bool>,
    clients: Vec<Client>,
    _tasks: JoinSet<()>,
}

impl Churn {
    async fn start(connect: &str) -> Self {
        let (held, (is_going_on, going_on)) = (Held::default(), watch::channel(true));
        let (mut clients, mut tasks) = (Vec::new(), JoinSet::new());
        for client in 0..CLIENTS {
            let config = Config::new(connect).session_timeout(SESSION).tick_time(TICK);
            clients.push(config.default_wait(Duration::MAX).connect().await.unwrap());
            for task in 0..TASKS {
                let (path, seed) = (format!("/queues/{client}-{task}"), client * TASKS + task);
                tasks.spawn(take_and_release(
                    clients[client].clone(),
                    path,
                    seed,
                    held.clone(),
                    going_on.clone(),
                ));
            }
        }
        Self { held, is_going_on, clients, _tasks: tasks }
    }

    /// Lets the tasks keep what they have.
    fn halt(&self) {
        self.is_going_on.send_replace(false);
    }

    fn go_on(&self) {
        self.is_going_on.send_replace(true);
    }

    async fn until_connected(&self) {
        let is_connected =
            || async { self.clients.iter().all(|client| client.health() == Health::Connected) };
        until(is_connected, "all clients are connected").await;
    }

    /// Checks that each lock whose node is not listed is lost, and returns the number of such nodes.
    async fn check(&self, server: &ZooKeeper) -> usize {
        let unlisted = unlisted(server).await;
        let holders: Vec<_> = {
            let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let is_unlisted = |(path, guard): &(&String, &Arc<MutexGuard>)| {
                unlisted.get(*path).is_some_and(|czxid| guard.fencing_token().zxid() == *czxid)
            };
            held.iter().filter(is_unlisted).map(|(_, guard)| guard.clone()).collect()
        };
        let are_told = || async { holders.iter().all(|guard| is_lost(guard)) };
        until(are_told, "the holders of nodes that are not listed are told").await;
        unlisted.len()
    }
}

fn is_lost(guard: &MutexGuard) -> bool {
    matches!(guard.state(), LeaseState::Lost(_))
}

async fn take_and_release(
    client: Client,
    path: String,
    seed: usize,
    held: Held,
    mut going_on: watch::Receiver<bool>,
) {
    let mutex = client.mutex(&path).unwrap();
    for round in 0_usize.. {
        let pseudorandom = seed.wrapping_mul(7_919) + round.wrapping_mul(104_729);
        // A failure is a lost session or connection: the next call shows whether the lock can be taken.
        if let Ok(guard) = mutex.lock().await {
            held.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), Arc::new(guard));
            sleep(Duration::from_millis(pseudorandom as u64 % 1_000)).await;
        }
        let Ok(_) = going_on.wait_for(|goes_on| *goes_on).await else { return };
        held.lock().unwrap_or_else(PoisonError::into_inner).remove(&path);
        // The queue is empty for some time, so that the server deletes it now and then.
        sleep(Duration::from_millis(pseudorandom as u64 % 97)).await;
    }
}

/// Returns the queues of the ephemeral nodes that a server has and does not list, with the tokens of these nodes.
async fn unlisted(server: &ZooKeeper) -> BTreeMap<String, u64> {
    let dump = block_in_place(|| server.four_letter("dump")).unwrap();
    let reader = zk::Client::connect(server.connect_string()).await.unwrap();
    let mut unlisted = BTreeMap::new();
    for path in dump.lines().filter_map(|line| line.strip_prefix('\t')) {
        let Some((queue, node)) = path.rsplit_once('/').filter(|(queue, _)| queue.starts_with("/queues/"))
        else {
            continue;
        };
        let listed = reader.list_children(queue).await.unwrap_or_default();
        if listed.iter().any(|listed| listed == node) {
            continue;
        }
        // A node that is there now was there when the queue was listed.
        if let Some(stat) = reader.check_stat(path).await.unwrap() {
            unlisted.insert(queue.to_owned(), stat.czxid.cast_unsigned());
        }
    }
    unlisted
}

async fn load_ballast(connect: &str) {
    let client = zk::Client::connect(connect).await.unwrap();
    let options = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
    let (count, size) = BALLAST;
    client.create("/ballast", b"", &options).await.unwrap();
    for number in 0..count {
        client.create(&format!("/ballast/{number}"), &vec![b'x'; size], &options).await.unwrap();
    }
}

/// Starts ZooKeeper 3.9.4 with settings that let it forget nodes.
async fn server() -> ZooKeeper {
    let server =
        ZooKeeper::builder().installation(zookeeper_3_9_4()).tick_time(TICK).max_session_timeout(SESSION);
    let server = SETTINGS.iter().fold(server, |server, (name, value)| server.system_property(name, value));
    block_in_place(|| server.start()).unwrap()
}

/// Returns the snapshots of a server, the latest one last.
fn snapshots(server: &ZooKeeper) -> Vec<PathBuf> {
    let files = fs::read_dir(server.directory().join("data/version-2")).unwrap();
    let zxid = |path: &PathBuf| i64::from_str_radix(path.to_str()?.rsplit_once("/snapshot.")?.1, 16).ok();
    let mut snapshots: Vec<_> =
        files.map(|file| file.unwrap().path()).filter(|path| zxid(path).is_some()).collect();
    snapshots.sort_by_key(zxid);
    snapshots
}

/// The snapshot that a server takes when it starts gets the name of an earlier one, as if it had begun then and taken
/// so long. The server replays the transactions since then over it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_holder_of_a_node_that_is_not_listed_is_told() {
    let server = server().await;
    let config = Config::new(server.connect_string()).session_timeout(SESSION).tick_time(TICK);
    let client = config.connect().await.unwrap();
    block_in_place(|| server.restart()).unwrap();
    let early = snapshots(&server).pop().expect("a server takes a snapshot when it starts");
    let mutex = client.mutex("/queues/a").unwrap();
    soon(mutex.lock()).await.unwrap().release().await.unwrap();
    let outsider = zk::Client::connect(server.connect_string()).await.unwrap();
    let is_gone = async || outsider.check_stat("/queues/a").await.unwrap().is_none();
    until(is_gone, "the server deletes the empty queue").await;
    let guard = soon(mutex.lock()).await.unwrap();

    block_in_place(|| server.restart()).unwrap();
    block_in_place(|| server.kill()).unwrap();
    let mut later = snapshots(&server);
    fs::rename(later.pop().expect("a server takes a snapshot when it starts"), &early).unwrap();
    later.iter().filter(|path| **path != early).for_each(|path| fs::remove_file(path).unwrap());
    block_in_place(|| server.restart()).unwrap();
    assert!(unlisted(&server).await.contains_key("/queues/a"));
    until(|| async { is_lost(&guard) }, "the holder is told").await;
    let _guard = soon(mutex.lock()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_are_told_of_nodes_that_a_restarted_server_does_not_list() {
    let server = server().await;
    load_ballast(server.connect_string()).await;
    let churn = Churn::start(server.connect_string()).await;
    let mut found = 0;
    for _ in 0..ROUNDS {
        sleep(Duration::from_secs(3)).await;
        block_in_place(|| server.kill()).unwrap();
        churn.halt();
        block_in_place(|| server.restart()).unwrap();
        churn.until_connected().await;
        found += churn.check(&server).await;
        churn.go_on();
    }
    assert!(found > 0, "no snapshot was taken while a queue was created again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_are_told_of_nodes_that_a_follower_with_an_empty_disk_does_not_list() {
    let ensemble =
        Ensemble::builder().installation(zookeeper_3_9_4()).tick_time(TICK).max_session_timeout(SESSION);
    let ensemble =
        SETTINGS.iter().fold(ensemble, |ensemble, (name, value)| ensemble.system_property(name, value));
    let ensemble = block_in_place(|| ensemble.start()).unwrap();
    let (leader, follower) = (ensemble.leader().unwrap(), ensemble.followers().unwrap()[0]);
    let [near, far] = [leader, follower].map(|server| Proxy::start(server.address()).unwrap());
    load_ballast(leader.connect_string()).await;
    far.refuse();
    let churn = Churn::start(&format!("{},{}", near.connect_string(), far.connect_string())).await;
    for _ in 0..ROUNDS {
        sleep(Duration::from_secs(1)).await;
        block_in_place(|| follower.kill()).unwrap();
        fs::remove_dir_all(follower.directory().join("data/version-2")).unwrap();
        block_in_place(|| follower.restart()).unwrap();
        churn.halt();
        near.refuse();
        near.cut(How::Rst);
        far.heal();
        soon(churn.until_connected()).await;
        churn.check(follower).await;
        near.heal();
        far.refuse();
        far.cut(How::Rst);
        churn.until_connected().await;
        churn.go_on();
    }
}
