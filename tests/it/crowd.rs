//! Many calls at one lock, and many locks that are held or waited for, in one process.

use std::collections::BTreeSet;
use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use zklock::{Client, Config, MutexGuard};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;

use crate::support::session_end::end_session;
use crate::support::{Server, failed, soon, until};

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
