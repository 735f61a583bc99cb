//! Nodes that a server has and does not list (ZOOKEEPER-4846). Since 3.8.5 and 3.9.4, a server that replays
//! transactions over a fuzzy snapshot does not link a child whose parent was deleted and created again meanwhile. The
//! holder of a lock must be told then, because the next contender does not see its node.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tokio::task::block_in_place;
use zklock::Config;
use zklock_testkit::ZooKeeper;
use zookeeper_client as zk;

use crate::release::zookeeper_3_9_4;
use crate::support::{TICK, soon, until};

/// Longer than the restart of a server on a busy machine.
const SESSION: Duration = Duration::from_secs(60);
/// The settings with which servers take snapshots all the time, which may have any name, and delete queues as soon as
/// they are empty.
const SETTINGS: [(&str, &str); 4] = [
    ("zookeeper.serializeLastProcessedZxid.enabled", "false"),
    ("zookeeper.snapCount", "1000"),
    ("znode.container.checkIntervalMs", "20"),
    ("znode.container.maxPerMinute", "600000"),
];

/// Returns whether a queue has an ephemeral node that the server does not list.
async fn has_unlisted(server: &ZooKeeper, queue: &str) -> bool {
    let dump = block_in_place(|| server.four_letter("dump")).unwrap();
    let reader = zk::Client::connect(server.connect_string()).await.unwrap();
    let listed = reader.list_children(queue).await.unwrap_or_default();
    let mut nodes = dump.lines().filter_map(|line| line.strip_prefix('\t')?.strip_prefix(queue));
    nodes.any(|node| !listed.iter().any(|listed| node == format!("/{listed}")))
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
    assert!(has_unlisted(&server, "/queues/a").await);
    soon(guard.lost()).await;
    let _guard = soon(mutex.lock()).await.unwrap();
}
