//! Many calls at one lock, many locks that are held or waited for, and the ways in which a client learns that nodes are
//! gone.

use std::ops::Range;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::task::JoinSet;
use zklock::{Client, Config, LeaseState, LossReason, MutexGuard};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{How, Proxy};

use crate::support::{Server, Space, failed, soon, until};
#[cfg(soak)]
use zklock::Health;

const DEFAULT: Duration = Duration::from_secs(30);
/// The number of locks.
const CROWD: usize = if cfg!(soak) { 2_500 } else { 300 };
/// The longest wait for a state of the whole crowd.
const LONG: Duration = Duration::from_secs(90);

/// Returns a path that is long, unless there are many.
fn path(number: usize) -> String {
    format!("/{}/{number}", "x".repeat(if cfg!(soak) { 5 } else { 900 }))
}

struct Crowd {
    server: Server,
    proxy: Proxy,
    client: Client,
}

impl Crowd {
    async fn of() -> Self {
        let server = Server::start_granting(DEFAULT);
        let proxy = Proxy::start(server.address()).unwrap();
        let client = Config::new(proxy.connect_string()).connect().await.unwrap();
        Self { server, proxy, client }
    }

    async fn other(&self) -> Client {
        Config::new(self.server.connect_string()).connect().await.unwrap()
    }

    async fn until_there_are(&self, contenders: usize) {
        let line = format!("zk_ephemerals_count\t{contenders}\n");
        let deadline = Instant::now() + LONG;
        while !self.server.four_letter("mntr").unwrap().contains(&line) {
            assert!(Instant::now() < deadline, "there are not {contenders} contenders");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn hold_each(client: &Client) -> Vec<MutexGuard> {
    let locks = (0..CROWD).map(async |number| client.mutex(path(number)).unwrap().lock().await.unwrap());
    soon(join_all(locks)).await
}

fn wait_for(client: &Client, numbers: Range<usize>) -> JoinSet<()> {
    let mut waiting = JoinSet::new();
    for number in numbers {
        let mutex = client.mutex(path(number)).unwrap();
        waiting.spawn(async move {
            mutex.lock_timeout(Duration::MAX).await.unwrap().release().await.unwrap();
        });
    }
    waiting
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_wait_for_many_locks_disturb_nobody_and_are_served() {
    let crowd = Crowd::of().await;
    let held = crowd.client.mutex("/held").unwrap().lock().await.unwrap();
    let guards = hold_each(&crowd.other().await).await;
    let half = CROWD / 2;
    let mut quitters = wait_for(&crowd.client, 0..half);
    crowd.until_there_are(1 + CROWD + half).await;
    let waiting = wait_for(&crowd.client, half..CROWD);
    crowd.until_there_are(1 + 2 * CROWD).await;
    let late = crowd.client.mutex(path(half)).unwrap();
    assert!(failed(soon(late.lock_timeout(Duration::from_secs(3))).await).is_contended());

    let lists = || crowd.proxy.requests(Opcode::GET_CHILDREN) + crowd.proxy.requests(Opcode::GET_CHILDREN2);
    let listed = lists();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(lists(), listed);
    soon(crowd.client.mutex("/free").unwrap().lock()).await.unwrap().release().await.unwrap();

    quitters.shutdown().await;
    crowd.until_there_are(1 + CROWD + CROWD - half).await;
    drop(guards);
    tokio::time::timeout(LONG, waiting.join_all()).await.expect("all are served in time");
    crowd.until_there_are(1).await;
    assert!(held.is_held());
}

#[tokio::test]
async fn each_of_many_nodes_that_is_deleted_is_noticed() {
    let space = Space::new();
    let mut guards = hold_each(&space.client().await).await;
    let kept = guards.split_off(CROWD / 2);
    join_all((0..CROWD / 2).map(async |number| space.delete_children(&path(number)).await)).await;
    for reason in join_all(guards.iter().map(|guard| soon(guard.lost()))).await {
        assert_eq!(reason, LossReason::NodeDeleted);
    }
    assert!(kept.iter().all(|guard| guard.is_held()));
}

#[tokio::test]
async fn each_of_many_locks_is_read_again_after_a_reconnect() {
    let (proxy, client) = Space::new().proxied().await;
    let guards = hold_each(&client).await;
    let reads = || proxy.requests(Opcode::GET_DATA);
    let before = reads();
    let is = |state: LeaseState| guards.iter().all(|guard| guard.state() == state);
    proxy.refuse();
    proxy.cut(How::Rst);
    until(async || is(LeaseState::Suspended), "all locks are in doubt").await;
    proxy.heal();
    until(async || is(LeaseState::Held), "all locks are held again").await;
    // Those that were taken right before may not have been read before.
    assert!((CROWD as u64..=CROWD as u64 * 2).contains(&(reads() - before)));
}

/// A refusal of the first read on the next connection is not the end of a lock whose node is there.
#[tokio::test]
async fn a_lock_whose_node_may_not_be_read_any_more_is_held_again_after_a_reconnect() {
    let (space, proxy, client) = Space::with_proxy().await;
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    // Behind the number of the request and the transaction.
    let no_auth = |reply: &[u8]| [&reply[..12], &(-102_i32).to_be_bytes()].concat();
    let denied = proxy.on_reply(Opcode::GET_DATA).always().rewrite(no_auth);
    proxy.refuse();
    proxy.cut(How::Rst);
    until(async || guard.state() == LeaseState::Suspended, "the lock is in doubt").await;
    proxy.heal();
    until(async || guard.state() == LeaseState::Held, "the lock is held again").await;
    assert!(denied.hits() > 0);
    proxy.cut(How::Rst);
    proxy.refuse();
    until(async || guard.state() == LeaseState::Suspended, "the lock is in doubt").await;
    space.delete_children("/a").await;
    proxy.heal();
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
}

#[tokio::test]
async fn a_writer_that_waited_and_lets_readers_in_at_once_keeps_the_lock() {
    let (space, [client, other]) = Space::with_clients().await;
    let [ours, theirs] = [&client, &other].map(|client| client.rwlock("/a").unwrap());
    for _ in 0..5 {
        let held = theirs.read().await.unwrap();
        let waiting = tokio::spawn({
            let ours = ours.clone();
            async move { ours.write().await.unwrap().downgrade().await.unwrap() }
        });
        space.until_queued("/a", 2).await;
        let is_watched = async || {
            let nodes = space.children("/a").await;
            nodes.iter().any(|node| space.is_watched(&format!("/a/{node}")))
        };
        until(is_watched, "it waits").await;
        held.release().await.unwrap();
        let reader = soon(waiting).await.unwrap();
        reader.verify().await.unwrap();
        reader.release().await.unwrap();
    }
}

/// The fast tests above have fewer locks.
#[cfg(soak)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nine_thousand_locks_are_held_again_after_a_reconnect() {
    let (proxy, client) = Space::new().proxied().await;
    let locks = (0..9_000).map(|number| client.mutex(format!("/a/{number}")).unwrap());
    let locks: Vec<_> = locks.collect();
    let guards = soon(join_all(locks.iter().map(|lock| lock.lock_timeout(Duration::MAX)))).await;
    let guards: Vec<_> = guards.into_iter().map(Result::unwrap).collect();
    proxy.cut(How::Rst);
    until(async || client.health() != Health::Connected, "the connection is broken").await;
    until(async || guards.iter().all(|guard| guard.is_held()), "all locks are held again").await;
}
