//! Many calls at one lock, and many locks that are held or waited for, in one process.

use std::collections::BTreeSet;
use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use zklock::{Client, Config, LeaseState, LossReason, MutexGuard};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{How, Proxy};

use crate::support::session_end::end_session;
use crate::support::{Server, failed, soon, until, until_in_line};

/// The default session timeout.
const DEFAULT: Duration = Duration::from_secs(30);
/// More locks than the client library could watch again in one packet, with paths as long as those of [`path`].
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

    /// Returns another client, which holds the lock.
    async fn holder(&self, path: &str) -> MutexGuard {
        let other = Config::new(self.server.connect_string()).connect().await.unwrap();
        other.mutex(path).unwrap().lock().await.unwrap()
    }

    /// Waits until there are this many contenders on the server.
    async fn until_there_are(&self, contenders: usize) {
        let line = format!("zk_ephemerals_count\t{contenders}\n");
        let deadline = Instant::now() + LONG;
        while !self.server.four_letter("mntr").unwrap().contains(&line) {
            assert!(Instant::now() < deadline, "there are not {contenders} contenders");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Takes each lock of a crowd, and returns the guards.
async fn hold_each(client: &Client) -> Vec<MutexGuard> {
    let mut guards = Vec::new();
    for number in 0..CROWD {
        guards.push(soon(client.mutex(path(number)).unwrap().lock()).await.unwrap());
    }
    guards
}

/// Waits for each of these locks, and gives it back.
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
async fn calls_that_wait_together_go_on_without_requests_once_no_other_client_waits() {
    const CALLS: u32 = 2_000;
    let crowd = Crowd::of().await;
    let held = crowd.holder("/one").await;
    let mutex = crowd.client.mutex("/one").unwrap();
    let waiting: JoinSet<_> = iter::repeat_n(mutex.clone(), CALLS as usize)
        .map(async |mutex| mutex.lock_timeout(Duration::MAX).await.unwrap().release().await.unwrap())
        .collect();
    until_in_line(&mutex, CALLS).await;
    let before = crowd.proxy.requests_total();
    held.release().await.unwrap();
    tokio::time::timeout(LONG, waiting.join_all()).await.expect("all are served in time");
    // The turn of a node that has waited is bounded, and that of the next one is not.
    let requests = crowd.proxy.requests_total() - before;
    assert!(requests < 20, "{requests} requests");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_wait_for_many_locks_disturb_nobody_and_are_served() {
    let crowd = Crowd::of().await;
    let held = crowd.client.mutex("/held").unwrap().lock().await.unwrap();
    let other = Config::new(crowd.server.connect_string()).connect().await.unwrap();
    let guards = hold_each(&other).await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_of_one_client_that_are_cancelled_together_cost_two_requests() {
    let crowd = Crowd::of().await;
    let _holder = crowd.holder("/crowd").await;
    let mutex = crowd.client.mutex("/crowd").unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..CROWD {
        let mutex = mutex.clone();
        waiting.spawn(async move { mutex.lock_timeout(Duration::MAX).await });
    }
    until_in_line(&mutex, CROWD as u32).await;
    crowd.until_there_are(2).await;
    let before = crowd.proxy.counts();
    waiting.shutdown().await;
    crowd.until_there_are(1).await;
    // Requests are answered in their order: this list comes after all that was sent before.
    assert!(crowd.client.mutex("/another").unwrap().participants().await.unwrap().is_empty());
    let since = crowd.proxy.counts() - before;
    // The watch on the node in front is removed, too.
    let expected = [Opcode::DELETE, Opcode::REMOVE_WATCHES, Opcode::GET_CHILDREN];
    assert_eq!(expected.map(|opcode| since.requests(opcode)), [1, 1, 1]);
    assert_eq!(since.requests_total() - since.requests(Opcode::PING), 3, "{since:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconnect_verifies_many_locks_by_a_read_of_each() {
    let crowd = Crowd::of().await;
    let mut guards = Vec::new();
    for number in 0..CROWD {
        let mutex = crowd.client.mutex(path(number)).unwrap();
        guards.push(soon(mutex.lock()).await.unwrap());
    }
    let expelled = soon(crowd.client.mutex("/expelled").unwrap().lock()).await.unwrap();
    let outsider = crowd.server.outsider().await;
    let before = crowd.proxy.requests_total();
    crowd.proxy.refuse();
    crowd.proxy.cut(How::Rst);
    let node = outsider.list_children("/expelled").await.unwrap().remove(0);
    outsider.delete(&format!("/expelled/{node}"), None).await.unwrap();
    crowd.proxy.heal();
    assert_eq!(soon(expelled.lost()).await, LossReason::NodeDeleted);
    let is_held = |guard: &MutexGuard| {
        assert!(!matches!(guard.state(), LeaseState::Lost(_)), "a lock is lost");
        guard.state() == LeaseState::Held
    };
    until(|| async { guards.iter().all(is_held) }, "all locks are confirmed").await;
    let asked = crowd.proxy.requests_total() - before;
    // Two for each: a node is read, and its queue is listed.
    assert!(asked < CROWD as u64 * 2 + 100, "{asked} requests");
}

/// The size of a crowd of locks that come and go, and the time for which each is held.
const BURST: (usize, Duration) =
    if cfg!(soak) { (5_000, Duration::from_secs(8)) } else { (100, Duration::from_millis(100)) };
/// The time between two bursts.
const BETWEEN_BURSTS: Duration = Duration::from_secs(if cfg!(soak) { 12 } else { 0 });

/// Takes many locks, each of which is held for some time.
async fn burst(client: &Client) {
    let mut jobs = JoinSet::new();
    for number in 0..BURST.0 {
        let mutex = client.mutex(format!("/burst/{number}")).unwrap();
        jobs.spawn(async move {
            let guard = mutex.lock_timeout(LONG).await.unwrap();
            tokio::time::sleep(BURST.1).await;
            guard.release().await.unwrap();
        });
    }
    while let Some(job) = jobs.join_next().await {
        job.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_of_locks_that_comes_and_goes_costs_no_other_lock_and_no_later_call() {
    let crowd = Crowd::of().await;
    let long = crowd.client.mutex("/long").unwrap().lock().await.unwrap();
    let session = crowd.client.session_id();
    for _ in 0..2 {
        burst(&crowd.client).await;
        crowd.until_there_are(1).await;
        tokio::time::sleep(BETWEEN_BURSTS).await;
        let later = crowd.client.mutex("/burst/1").unwrap();
        soon(later.lock()).await.unwrap().release().await.unwrap();
        assert!(long.is_held() && crowd.client.readiness().is_ready());
    }
    assert_eq!(crowd.client.session_id(), session);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_whose_sessions_end_together_enter_again_and_are_all_served() {
    let crowd = Crowd::of().await;
    let holder = crowd.holder("/fleet").await;
    let mut fleet = Vec::new();
    for _ in 0..FLEET {
        fleet.push(Config::new(crowd.server.connect_string()).connect().await.unwrap());
    }
    let (mut waiting, inside) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
    for client in &fleet {
        let (mutex, inside) = (client.mutex("/fleet").unwrap(), inside.clone());
        waiting.spawn(async move {
            let guard = mutex.lock_timeout(Duration::MAX).await.unwrap();
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
            tokio::task::yield_now().await;
            inside.fetch_sub(1, Ordering::SeqCst);
            let token = guard.fencing_token();
            guard.release().await.unwrap();
            token
        });
    }
    crowd.until_there_are(FLEET + 1).await;
    let ended: Vec<_> = fleet.iter().map(|client| client.session_id().unwrap()).collect();
    for session in &ended {
        end_session(crowd.server.address(), *session);
    }
    let has_next = |(client, ended): (&Client, &i64)| client.session_id().is_some_and(|id| id != *ended);
    until(|| async { iter::zip(&fleet, &ended).all(has_next) }, "each client has its next session").await;
    crowd.until_there_are(FLEET + 1).await;
    assert!(holder.is_held());
    holder.release().await.unwrap();
    let served = tokio::time::timeout(LONG, waiting.join_all()).await.expect("all are served in time");
    assert_eq!(served.into_iter().collect::<BTreeSet<_>>().len(), FLEET);
    crowd.until_there_are(0).await;
}

/// The number of clients of which each has a session and one call.
const FLEET: usize = 64;
