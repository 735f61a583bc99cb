//! The number of requests that locks cost, counted by a server of the test's own.

use std::cell::Cell;
use std::time::Duration;

use tokio::task::JoinSet;
use zklock::{
    Client, Config, Heartbeat, LeaderLatch, LockError, Mutex, Permits, Semaphore, distributed_lock,
    leader_only,
};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{How, Proxy};

use crate::support::{self, Server, Space, lead, soon, spawn_lock_of, until, until_in_line, until_leads};

/// A session timeout so long that neither a heartbeat nor a ping is sent within the time of a test, if a server
/// may be silent for a third of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

async fn quiet(server: &Server) -> Mutex {
    let client = quiet_client(server).await;
    let mutex = client.mutex("/cost").unwrap();
    mutex.lock().await.unwrap().release().await.unwrap();
    mutex
}

pub(crate) async fn requests(server: &Server, future: impl Future<Output = ()>) -> u64 {
    let before = server.packets_received();
    future.await;
    // The second question is itself counted.
    server.packets_received() - before - 1
}

#[tokio::test]
async fn a_lock_at_a_new_path_costs_one_request_more_if_it_is_held_for_longer() {
    let server = Server::start_granting(PATIENCE);
    let (proxy, client) = quiet_proxied(&server).await;
    let before = proxy.requests_total();
    let guard = client.mutex("/cost").unwrap().lock().await.unwrap();
    until(|| async { proxy.replies(Opcode::GET_CHILDREN) > 0 }, "the holder looks around").await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    guard.release().await.unwrap();
    assert_eq!(proxy.requests_total() - before, 3);
}

#[tokio::test]
async fn a_lock_that_goes_from_call_to_call_is_watched_before_one_that_was_taken_earlier() {
    let server = Server::start_granting(PATIENCE);
    let ((idle_proxy, idle), (proxy, busy)) = (quiet_proxied(&server).await, quiet_proxied(&server).await);
    let lists = |proxy: &Proxy| proxy.requests(Opcode::GET_CHILDREN);
    let comes_first = async |round: u32| {
        let before = (lists(&idle_proxy), lists(&proxy));
        let _earlier = idle.mutex(format!("/idle/{round}")).unwrap().lock().await.unwrap();
        // Less than the time after which any lock is watched.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let mutex = busy.mutex(format!("/busy/{round}")).unwrap();
        drop(mutex.lock().await.unwrap());
        let passed = mutex.lock().await.unwrap();
        until(|| async { lists(&proxy) > before.1 }, "the holder looks around").await;
        passed.fencing_token().handoff() == 1 && lists(&idle_proxy) == before.0
    };
    // On a busy machine, the first one may have been held for so long that it is watched, too, or the second one is released.
    for round in 0..10 {
        if comes_first(round).await {
            return;
        }
    }
    panic!("the lock that is passed on is never watched first");
}

#[tokio::test]
async fn a_lock_whose_connection_breaks_before_its_first_list_is_listed_once_on_the_next() {
    let server = Server::start_granting(PATIENCE);
    let (proxy, client) = quiet_proxied(&server).await;
    for round in 0..10 {
        let guard = client.mutex(format!("/cut/{round}")).unwrap().lock().await.unwrap();
        proxy.cut(How::Rst);
        let (reads, lists) = (proxy.replies(Opcode::GET_DATA), proxy.requests(Opcode::GET_CHILDREN));
        let looked = || async {
            proxy.replies(Opcode::GET_DATA) > reads && proxy.requests(Opcode::GET_CHILDREN) > lists
        };
        until(looked, "the holder looks at its node and lists its queue").await;
        guard.release().await.unwrap();
        assert_eq!(proxy.requests(Opcode::GET_CHILDREN) - lists, 1, "round {round}");
    }
}

#[tokio::test]
async fn a_taken_lock_costs_five_requests_and_an_event_of_each_watched_node_and_six_requests_at_first() {
    // Behind one alone, the waiter watches its own node as well, whose end is an event, and lists no second time.
    for (in_front, watched) in [(1, 2), (2, 1)] {
        let server = Server::start_granting(PATIENCE);
        let (proxy, client) = quiet_proxied(&server).await;
        let (holder, other) = (quiet(&server).await, quiet(&server).await);
        // The first acquisition finds that the queue exists. The second one watches the queue's node as well.
        for (reads, cost) in [(watched, 6), (watched + 1, 6), (watched, 5)] {
            let guard = holder.lock().await.unwrap();
            let between = (in_front == 2).then(|| spawn_lock_of(&other));
            let are_in_front = async || holder.participants().await.unwrap().len() == in_front;
            until(are_in_front, "all others are in the queue").await;
            let mutex = client.mutex("/cost").unwrap();
            let (requests, replies) = (proxy.requests_total(), proxy.replies(Opcode::GET_DATA));
            let events = proxy.counts().notifications();
            let waiting = tokio::spawn(async move { mutex.lock().await.unwrap().release().await });
            let watches = || async { proxy.replies(Opcode::GET_DATA) >= replies + reads };
            until(watches, "the waiter watches").await;
            guard.release().await.unwrap();
            if let Some(between) = between {
                soon(between).await.unwrap().release().await.unwrap();
            }
            soon(waiting).await.unwrap().unwrap();
            assert_eq!(proxy.requests_total() - requests, cost, "behind {in_front}");
            assert_eq!(proxy.counts().notifications() - events, watched, "behind {in_front}");
        }
    }
}

#[tokio::test]
async fn a_waiter_whose_only_predecessor_leaves_before_it_is_watched_costs_four_requests_and_no_event() {
    let server = Server::start_granting(PATIENCE);
    let (proxy, client) = quiet_proxied(&server).await;
    let (holder, mutex) = (quiet(&server).await, client.mutex("/cost").unwrap());
    // The first one finds that the queue exists, and the second one watches the queue's node.
    for (nth, cost) in [(1, 5), (2, 5), (1, 4)] {
        let guard = holder.lock().await.unwrap();
        let (requests, events) = (proxy.requests_total(), proxy.counts().notifications());
        let watch = proxy.on_request(Opcode::GET_DATA).nth(nth).hold();
        let waiting = spawn_lock_of(&mutex);
        soon(watch.struck()).await;
        guard.release().await.unwrap();
        watch.release();
        soon(waiting).await.unwrap().release().await.unwrap();
        assert_eq!((proxy.requests_total() - requests, proxy.counts().notifications() - events), (cost, 0));
    }
}

/// Counts the requests that are sent while the future runs, and afterwards until this many ephemeral nodes
/// are left.
async fn requests_until(server: &Server, left: usize, future: impl Future<Output = ()>) -> u64 {
    let (questions, settled) = (Cell::new(0), format!("zk_ephemerals_count\t{left}\n"));
    let is_settled = || async {
        questions.set(questions.get() + 1);
        server.four_letter("mntr").unwrap().contains(&settled)
    };
    let all = async {
        future.await;
        until(is_settled, "nothing goes on in the background").await;
    };
    requests(server, all).await - questions.get()
}

/// Returns a client whose session sends no heartbeat within the time of a test.
pub(crate) async fn quiet_client(server: &Server) -> Client {
    quiet_client_at(server.connect_string()).await
}

pub(crate) async fn quiet_proxied(server: &Server) -> (Proxy, Client) {
    let proxy = Proxy::start(server.address()).unwrap();
    let client = quiet_client_at(proxy.connect_string()).await;
    (proxy, client)
}

async fn quiet_client_at(connect: &str) -> Client {
    Config::new(connect).session_timeout(PATIENCE).server_timeout(PATIENCE / 3).connect().await.unwrap()
}

#[tokio::test]
async fn a_free_permit_costs_seven_requests_and_each_further_one_three() {
    let server = Server::start_granting(PATIENCE);
    let semaphore = quiet_client(&server).await.semaphore("/cost", 8).unwrap();
    let first = async { semaphore.acquire_many(8).await.unwrap().release().await.unwrap() };
    requests_until(&server, 0, first).await;
    for (permits, cost) in [(1, 7), (2, 10), (8, 28)] {
        let free = async {
            for _ in 0..10 {
                semaphore.acquire_many(permits).await.unwrap().release().await.unwrap();
            }
        };
        let cost = 10 * cost;
        // While the later permits are taken, the tasks of the earlier ones may watch their own nodes. On a busy machine, the
        // gate may be held for so long that the client looks around.
        let watches = 10 * u64::from(permits);
        let all = requests_until(&server, 0, free).await;
        assert!((cost..=cost + watches).contains(&all), "{permits}: {all}");
    }
    // A shared number costs one request more, which reads it.
    let shared = Permits::shared("/limit", 8);
    let shared = quiet_client(&server).await.semaphore("/shared", shared).unwrap();
    let first = async { shared.acquire().await.unwrap().release().await.unwrap() };
    requests_until(&server, 0, first).await;
    let free = async { shared.acquire().await.unwrap().release().await.unwrap() };
    assert!((8..=9).contains(&requests_until(&server, 0, free).await));
    // Each further permit is listed with the number as well.
    let two = async { shared.acquire_many(2).await.unwrap().release().await.unwrap() };
    assert!((12..=14).contains(&requests_until(&server, 0, two).await));
}

#[tokio::test]
async fn a_try_of_taken_permits_costs_no_more_than_taking_them() {
    let server = Server::start_granting(PATIENCE);
    let (holder, other) = (quiet_client(&server).await, quiet_client(&server).await);
    let (holder, other) = (holder.semaphore("/cost", 2).unwrap(), other.semaphore("/cost", 2).unwrap());
    let _guard = holder.acquire_many(2).await.unwrap();
    // A contender that arrives makes the holder watch its own nodes, once each.
    let watched = || async {
        assert!(other.try_acquire().await.unwrap().is_none());
        let permits = holder.participants().await.unwrap();
        let watches = server.four_letter("wchp").unwrap();
        permits.len() == 2 && permits.iter().all(|permit| watches.contains(&permit.node))
    };
    until(watched, "the holder watches").await;
    // On a busy machine, the gate may be held for so long that the client looks around.
    let one = async { assert!(other.try_acquire().await.unwrap().is_none()) };
    assert!((7..=8).contains(&requests_until(&server, 2, one).await));
    let many = async { assert!(other.try_acquire_many(2).await.unwrap().is_none()) };
    assert!((4..=5).contains(&requests_until(&server, 2, many).await));
}

#[leader_only(path = "/cost/{shard}")]
async fn sweep(shard: u8) {
    unreachable!("{shard}")
}

#[tokio::test]
async fn client_asks_who_leads_and_skips_the_calls_of_a_follower_without_a_request() {
    let server = Server::start_granting(PATIENCE);
    let (leads, follows) = (quiet_client(&server).await, quiet_client(&server).await);
    until_leads(&leads, "/cost/7").await;
    assert!(!follows.leader("/cost/7").unwrap().join().await.unwrap());
    let (first, _term) = lead(&leads, "/latch").await;
    let second = follows.leader_latch("/latch").unwrap();
    // In each election the leader watches its own node or the queue. The follower watches the leader's node.
    until(|| async { server.watch_count() == 4 }, "all watches are there").await;
    let asks = async |client: &Client, latch: &LeaderLatch, leads: bool| {
        let leader = client.leader("/cost/7").unwrap();
        for _ in 0..10_000 {
            assert_eq!([latch.is_leader(), leader.is_leader(), zklock::is_leader("/cost/7")], [leads; 3]);
            if !leads {
                sweep(7).await;
            }
        }
    };
    for (client, latch, leads) in [(&leads, &first, true), (&follows, &second, false)] {
        let asked = requests(&server, zklock::scope(client.clone(), asks(client, latch, leads))).await;
        assert_eq!(asked, 0);
    }
}

/// Counts the requests of a client for a permit that it waits for. `before` of them are answered before the
/// permit is free.
async fn waited_for(before: u64, of: impl Fn(&Client) -> Semaphore) -> u64 {
    let server = Server::start_granting(PATIENCE);
    let (proxy, client) = quiet_proxied(&server).await;
    let (holder, waiter) = (of(&quiet_client(&server).await), of(&client));
    let first = async { waiter.acquire().await.unwrap().release().await.unwrap() };
    requests_until(&server, 0, first).await;
    let guard = holder.acquire().await.unwrap();
    // The holder's gate is open again.
    requests_until(&server, 1, async {}).await;
    let answered = || async { proxy.requests_total() == proxy.counts().replies_total() };
    until(answered, "what the client sent before is answered").await;
    let (requests, replies) = (proxy.requests_total(), proxy.counts().replies_total());
    let waits = tokio::spawn(async move { waiter.acquire().await.unwrap().release().await });
    until(|| async { proxy.counts().replies_total() >= replies + before }, "the client waits").await;
    guard.release().await.unwrap();
    soon(waits).await.unwrap().unwrap();
    // The gate is released and the watch on a shared number is removed in the background.
    requests_until(&server, 0, async {}).await;
    let mntr = || server.four_letter("mntr").unwrap();
    until(|| async { mntr().contains("zk_watch_count\t0\n") }, "nothing is watched").await;
    proxy.requests_total() - requests
}

#[tokio::test]
async fn a_permit_that_is_waited_for_costs_eight_requests_and_a_shared_one_twelve() {
    let agreed = |client: &Client| client.semaphore("/cost", 1).unwrap();
    // The gate of the semaphore may be held for so long that the client looks around.
    assert!((8..=9).contains(&waited_for(5, agreed).await));
    let shared = |client: &Client| client.semaphore("/cost", Permits::shared("/limit", 1)).unwrap();
    // The number is read with each list.
    assert!((12..=13).contains(&waited_for(7, shared).await));
}

#[tokio::test]
async fn a_downgrade_costs_its_transaction_and_a_list() {
    let server = Server::start_granting(PATIENCE);
    let (proxy, client) = quiet_proxied(&server).await;
    let lock = client.rwlock("/cost").unwrap();
    lock.read().await.unwrap().release().await.unwrap();
    let (before, lists) = (proxy.requests_total(), proxy.replies(Opcode::GET_CHILDREN));
    let reader = lock.write().await.unwrap().downgrade().await.unwrap();
    until(|| async { proxy.replies(Opcode::GET_CHILDREN) == lists + 2 }, "the reader looks around").await;
    reader.release().await.unwrap();
    let all = proxy.requests_total() - before;
    assert_eq!(all, 4 + 2, "the second acquisition, with the release, and the downgrade");
}

#[tokio::test]
async fn holder_that_listens_for_revocation_sends_one_more_request() {
    let server = Server::start_granting(PATIENCE);
    let lock = quiet_client(&server).await.rwlock("/cost").unwrap();
    lock.read().await.unwrap().release().await.unwrap();
    let listens = async {
        let guard = lock.write().await.unwrap();
        guard.on_revoke(|| ());
        guard.on_revoke(|| ());
        guard.verify().await.unwrap();
        guard.release().await.unwrap();
    };
    let all = requests(&server, listens).await;
    assert_eq!(all, 4 + 1 + 2, "the second acquisition, one to listen, and two to verify after it");
}

const TICK: &str = "/ticks/hourly";
const HOUR: Duration = Duration::from_secs(3_600);

#[distributed_lock(path = "/hourly", once_per = "1h", tick = TICK, wait = forever)]
async fn hourly() -> Result<Option<u8>, LockError> {
    Ok(Some(7))
}

/// Returns a configuration whose heartbeats are reads, where transactions are counted.
pub(crate) fn reads_as_heartbeats(config: Config) -> Config {
    config.heartbeat(Heartbeat::Read).sync_limit(support::TICK)
}

#[tokio::test]
async fn waiters_for_one_period_share_the_question_whether_it_has_begun() {
    const WAITERS: usize = 20;
    let space = Space::new();
    let (proxy, client) = space.proxied_with(reads_as_heartbeats).await;
    let holder = client.mutex("/hourly").unwrap().lock().await.unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..WAITERS {
        waiting.spawn(zklock::scope(client.clone(), hourly()));
    }
    until_in_line(&client.mutex("/hourly").unwrap(), WAITERS as u32).await;
    let before = proxy.requests(Opcode::MULTI);
    assert!(holder.once_per(TICK, HOUR).await.unwrap());
    let starts = soon(waiting.join_all()).await;
    assert!(starts.into_iter().all(|starts| starts.unwrap().is_none()));
    let requests = proxy.requests(Opcode::MULTI) - before;
    // A question that came just before the start is followed by another one.
    assert!((2..=3).contains(&requests), "the start, and one question for all: {requests}");
}

#[tokio::test]
async fn an_upsert_costs_one_request_or_two_and_one_for_each_missing_parent_and_a_read_two() {
    let server = Server::start_granting(PATIENCE);
    let guard = quiet_client(&server).await.mutex("/cost").unwrap().lock().await.unwrap();
    until(|| async { server.watch_count() == 1 }, "the holder has looked around").await;
    for (path, cost) in [("/cost", 1), ("/new", 2), ("/new", 1), ("/new/a", 2), ("/two/more/nodes", 4)] {
        let upserted = async { guard.upsert(path, "x").await.unwrap() };
        assert_eq!(requests(&server, upserted).await, cost, "{path}");
    }
    for path in ["/new", "/nowhere"] {
        let read = async { drop(guard.get(path).await.unwrap()) };
        assert_eq!(requests(&server, read).await, 2, "{path}");
    }
}
