//! The metrics of the feature `metrics`, as Prometheus gets them.
//!
//! The recorder is that of the process, so each test uses names of its own.

mod operations;
mod parting;
mod scrape;

use std::time::Duration;

use tokio::sync::RwLock;
use tokio::time::{sleep, timeout};
use zklock::{Client, Config, LossReason, Policy, distributed_lock};
use zklock_testkit::{EmbeddedServer, How, Proxy};
use zookeeper_client as zk;

use self::scrape::{Blocked, install, scraped, threads};

/// A test that makes the recorder block keeps it for itself from those that need an answer in time.
static RECORDER: RwLock<()> = RwLock::const_new(());
/// The longest wait for a state that must come.
const SOON: Duration = Duration::from_secs(20);

async fn client(server: &EmbeddedServer, namespace: &str) -> Client {
    install();
    Config::new(server.connect_string()).namespace(namespace).connect().await.unwrap()
}

/// Waits until a metric with these labels has a value that fits.
async fn until(name: &str, labels: &[(&str, &str)], fits: impl Fn(f64) -> bool) {
    let seen = async {
        while !scraped(name, labels).into_iter().any(&fits) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let in_time = timeout(SOON, seen).await;
    assert!(in_time.is_ok(), "{name} {labels:?} is {:?}", scraped(name, labels));
}

async fn until_it_is(value: f64, name: &str, labels: &[(&str, &str)]) {
    until(name, labels, |seen| seen == value).await;
}

#[tokio::test]
async fn each_end_of_a_wait_and_of_a_hold_is_counted() {
    let server = EmbeddedServer::start().unwrap();
    // Of the clients of one namespace, the one that reports last sets the gauges of the namespace.
    let (other, client) = (client(&server, "/").await, client(&server, "/ends").await);
    let mutex = client.mutex("/a").unwrap().named("ends");
    let ends = [("lock", "ends"), ("kind", "exclusive")];
    let with = |name, value| [ends[0], ends[1], (name, value)];

    let held = other.mutex("/ends/a").unwrap().lock().await.unwrap();
    assert!(mutex.try_lock().await.unwrap().is_none());
    until_it_is(1.0, "zklock_acquisitions_total", &with("outcome", "contended")).await;
    mutex.lock_timeout(Duration::from_millis(20)).await.unwrap_err();
    until_it_is(1.0, "zklock_acquisitions_total", &with("outcome", "timed_out")).await;
    let waiting = tokio::spawn({
        let mutex = mutex.clone();
        async move { mutex.lock().await }
    });
    until_it_is(1.0, "zklock_waiting", &ends).await;
    waiting.abort();
    until_it_is(1.0, "zklock_acquisitions_total", &with("outcome", "cancelled")).await;
    until_it_is(0.0, "zklock_waiting", &ends).await;
    held.release().await.unwrap();

    let first = mutex.lock().await.unwrap();
    until_it_is(1.0, "zklock_acquisitions_total", &with("outcome", "acquired")).await;
    until_it_is(1.0, "zklock_held", &ends).await;
    until("zklock_lease_remaining_seconds", &[("namespace", "/ends")], |seconds| seconds > 0.0).await;
    let next = tokio::spawn({
        let mutex = mutex.clone();
        async move { mutex.lock().await.unwrap() }
    });
    until_it_is(1.0, "zklock_waiting", &ends).await;
    first.release().await.unwrap();
    let next = timeout(SOON, next).await.unwrap().unwrap();
    until_it_is(1.0, "zklock_handoffs_total", &ends).await;
    until_it_is(1.0, "zklock_turns_total", &ends).await;
    server.delete("/ends/a");
    assert_eq!(next.lost().await, LossReason::NodeDeleted);
    until_it_is(1.0, "zklock_losses_total", &with("reason", "node_deleted")).await;
    until_it_is(0.0, "zklock_held", &ends).await;
    until_it_is(2.0, "zklock_wait_seconds_count", &ends).await;
    until_it_is(2.0, "zklock_hold_seconds_count", &ends).await;
    drop(next);

    let room = other.semaphore("/ends/room", 3).unwrap().acquire().await.unwrap();
    client.semaphore("/room", 4).unwrap().named("ends").acquire().await.unwrap_err();
    let refused = [("lock", "ends"), ("kind", "permit"), ("outcome", "refused")];
    until_it_is(1.0, "zklock_acquisitions_total", &refused).await;
    drop(room);
    client.shutdown(Duration::ZERO).await;
    mutex.lock().await.unwrap_err();
    until_it_is(1.0, "zklock_acquisitions_total", &with("outcome", "failed")).await;
}

#[tokio::test]
async fn a_release_that_the_server_denies_is_counted() {
    let server = EmbeddedServer::start().unwrap();
    let client = client(&server, "/denied").await;
    let guard = client.mutex("/a").unwrap().named("denied").lock().await.unwrap();
    let outsider = zk::Client::connect(server.connect_string()).await.unwrap();
    let all_but_delete = zk::Permission::READ | zk::Permission::CREATE | zk::Permission::ADMIN;
    let acl = [zk::Acl::new(all_but_delete, zk::AuthId::anyone())];
    outsider.set_acl("/denied/a", &acl, None).await.unwrap();
    guard.release().await.unwrap_err();
    until_it_is(1.0, "zklock_release_failures_total", &[("lock", "denied")]).await;
    until_it_is(0.0, "zklock_held", &[("lock", "denied")]).await;

    let latch = client.election("/b").unwrap().named("denied").latch();
    assert!(timeout(SOON, latch.leadership()).await.unwrap().unwrap().is_leading());
    outsider.set_acl("/denied/b", &acl, None).await.unwrap();
    latch.close().await.unwrap();
    let leader = [("lock", "denied"), ("kind", "leader")];
    until_it_is(1.0, "zklock_release_failures_total", &leader).await;
}

#[tokio::test]
async fn the_session_its_connections_and_its_requests_are_counted() {
    let server = EmbeddedServer::start().unwrap();
    let proxy = Proxy::start(server.address()).unwrap();
    install();
    let client = Config::new(proxy.connect_string()).namespace("/session").connect().await.unwrap();
    let state = |state| [("namespace", "/session"), ("state", state)];
    until_it_is(1.0, "zklock_session_state", &state("connected")).await;
    until("zklock_sessions_total", &[], |count| count >= 1.0).await;
    client.mutex("/a").unwrap().lock().await.unwrap().release().await.unwrap();
    until("zklock_requests_total", &[("kind", "write")], |count| count >= 2.0).await;
    until("zklock_requests_total", &[("kind", "read")], |count| count >= 1.0).await;
    proxy.refuse();
    proxy.cut(How::Rst);
    until_it_is(1.0, "zklock_session_state", &state("suspended")).await;
    until_it_is(0.0, "zklock_session_state", &state("connected")).await;
    proxy.heal();
    until_it_is(1.0, "zklock_session_state", &state("connected")).await;
    until("zklock_reconnects_total", &[], |count| count >= 1.0).await;
    drop(client);
    until_it_is(0.0, "zklock_session_state", &state("connected")).await;
}

#[tokio::test]
async fn leaders_and_their_terms_are_counted() {
    let server = EmbeddedServer::start().unwrap();
    let client = client(&server, "/leaders").await;
    let election = client.election("/a").unwrap().named("elected").policy(Policy::GiveUpWhenLost);
    let latch = election.latch();
    let elected = [("lock", "elected")];
    latch.leadership().await.unwrap();
    until_it_is(1.0, "zklock_candidates", &elected).await;
    until_it_is(1.0, "zklock_leaders", &elected).await;
    until_it_is(1.0, "zklock_elections_total", &elected).await;
    latch.close().await.unwrap();
    until_it_is(1.0, "zklock_terms_ended_total", &[("lock", "elected"), ("reason", "resigned")]).await;
    until_it_is(0.0, "zklock_leaders", &elected).await;
    until_it_is(0.0, "zklock_candidates", &elected).await;
}

#[distributed_lock(path = "/periods/{id}", client = client, once_per = "1h", tick = "/tick/{id}", skip)]
async fn once(client: &Client, id: u64) -> Option<()> {
    Some(())
}

#[tokio::test]
async fn starts_and_skips_under_once_per_are_counted() {
    let server = EmbeddedServer::start().unwrap();
    let client = client(&server, "/once").await;
    assert!(once(&client, 1).await.is_some() && once(&client, 2).await.is_some());
    for _ in 0..3 {
        assert!(once(&client, 1).await.is_none());
    }
    until_it_is(2.0, "zklock_once_starts_total", &[]).await;
    until_it_is(3.0, "zklock_once_skips_total", &[]).await;
}

#[tokio::test]
async fn a_recorder_that_blocks_delays_no_lock_and_runs_on_no_other_thread() {
    let _alone = RECORDER.write().await;
    let server = EmbeddedServer::start().unwrap();
    let client = client(&server, "/blocked").await;
    let mutex = client.mutex("/a").unwrap().named("blocked");
    {
        let blocked = Blocked::begin();
        mutex.lock().await.unwrap().release().await.unwrap();
        blocked.struck(SOON).await;
        for _ in 0..100 {
            timeout(SOON, mutex.lock()).await.unwrap().unwrap().release().await.unwrap();
        }
    }
    until_it_is(101.0, "zklock_acquisitions_total", &[("lock", "blocked"), ("outcome", "acquired")]).await;
    assert_eq!(threads(), ["zklock-metrics"]);
}
