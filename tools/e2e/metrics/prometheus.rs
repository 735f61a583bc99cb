//! The queries of the dashboard and the alert rules in a running Prometheus, which reads the metrics of real locks.

mod process;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use zklock::{Client, Config};
use zklock_testkit::{EmbeddedServer, How, Proxy, Tool};
use zookeeper_client as zk;

use self::process::{PAUSE, Prometheus};
use super::{RECORDER, SOON, client};

const DASHBOARD: &str = include_str!("../../../docs/operations/dashboard.json");
const NAMESPACE: &str = "/prometheus";

/// Returns the queries of the dashboard, for all locks and with a window of a few samples.
fn queries() -> BTreeSet<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let queries = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    queries.map(|query| query.replace("$__rate_interval", "10s").replace("$lock", ".*")).collect()
}

/// Waits until a query has values, and returns `false` if none come.
async fn has_values(prometheus: &Prometheus, query: &str) -> bool {
    let values = async {
        while prometheus.values(query).await.is_empty() {
            sleep(PAUSE).await;
        }
    };
    timeout(3 * SOON, values).await.is_ok()
}

/// Takes locks without an end. Two calls at a time pass them on.
async fn work(client: &Client) {
    let call = async || {
        loop {
            let guard = client.mutex("/busy").unwrap().named("busy").lock().await.unwrap();
            sleep(Duration::from_millis(10)).await;
            guard.release().await.unwrap();
        }
    };
    tokio::join!(call(), call());
}

/// Makes the first use of each lock, whose counts are zero, and waits until they are known: a counter that begins with
/// one has no increase.
async fn begin(prometheus: &Prometheus, client: &Client) {
    let mutex = client.mutex("/a").unwrap().named("watched");
    mutex.lock().await.unwrap().release().await.unwrap();
    let room = client.semaphore("/room", 3).unwrap().named("watched");
    room.acquire().await.unwrap().release().await.unwrap();
    let latch = client.election("/flaps").unwrap().named("watched").latch();
    latch.leadership().await.unwrap();
    latch.close().await.unwrap();
    for known in [
        "zklock_losses_total{lock=\"watched\", kind=\"exclusive\"} == 0",
        "zklock_acquisitions_total{lock=\"watched\", kind=\"permit\", outcome=\"refused\"} == 0",
        "zklock_elections_total{lock=\"watched\"} == 1",
        "zklock_lease_remaining_seconds{namespace=\"/prometheus-cut\"} > 0",
    ] {
        assert!(has_values(prometheus, known).await, "{known}");
    }
}

/// Makes everything happen that has an alert, but for the end of a connection.
async fn misbehave(server: &EmbeddedServer, client: &Client) {
    let mutex = client.mutex("/a").unwrap().named("watched");
    let guard = mutex.lock().await.unwrap();
    assert!(mutex.clone().lock_timeout(Duration::from_millis(20)).await.is_err());
    server.delete(&format!("{NAMESPACE}/a"));
    guard.lost().await;
    drop(guard);

    let room = client.semaphore("/room", 3).unwrap().acquire().await.unwrap();
    client.semaphore("/room", 4).unwrap().named("watched").acquire().await.unwrap_err();
    room.release().await.unwrap();

    let guard = mutex.lock().await.unwrap();
    let outsider = zk::Client::connect(server.connect_string()).await.unwrap();
    let permit = async |path: &str, permission| {
        let acl = [zk::Acl::new(permission, zk::AuthId::anyone())];
        outsider.set_acl(&format!("{NAMESPACE}{path}"), &acl, None).await.unwrap();
    };
    permit("/a", zk::Permission::READ | zk::Permission::CREATE | zk::Permission::ADMIN).await;
    guard.release().await.unwrap_err();

    for _ in 0..8 {
        let latch = client.election("/flaps").unwrap().named("watched").latch();
        latch.leadership().await.unwrap();
        latch.close().await.unwrap();
    }
    permit("/flaps", zk::Permission::READ | zk::Permission::ADMIN).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_of_the_dashboard_and_each_alert_has_values_when_it_is_to() {
    let _unblocked = RECORDER.read().await;
    let server = EmbeddedServer::start().unwrap();
    let client = client(&server, NAMESPACE).await;
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations/alerts.yml");
    // The installation may wait for that of other packages.
    let found = spawn_blocking(|| Tool::Promtool.find_or_install()).await.unwrap();
    let promtool = found.unwrap_or_else(|error| panic!("{error}"));
    let prometheus = timeout(SOON, Prometheus::start(&promtool, &rules)).await.expect("Prometheus starts");
    let proxy = Proxy::start(server.address()).unwrap();
    // Long enough for several samples between a quarter of its lease and the end.
    let cut = Config::new(proxy.connect_string()).session_timeout(Duration::from_secs(40));
    let cut = cut.namespace("/prometheus-cut").connect().await.unwrap();
    let _held = cut.mutex("/held").unwrap().lock().await.unwrap();
    let checks = async {
        begin(&prometheus, &client).await;
        misbehave(&server, &client).await;
        // A candidate without the permission to stand.
        let _candidate = client.election("/flaps").unwrap().named("leaderless").latch();
        proxy.refuse();
        proxy.cut(How::Rst);
        let alerts = prometheus.alerts().await;
        assert_eq!(alerts.len(), 8, "{alerts:?}");
        // Some alerts are true for a few seconds only.
        let alerts = alerts.into_iter().map(|(_, query)| format!("last_over_time(({query})[5m:1s])"));
        let queries = queries().into_iter().chain(alerts);
        let asked = queries.map(async |query| (has_values(&prometheus, &query).await, query));
        let empty: Vec<_> = join_all(asked).await.into_iter().filter(|(has_values, _)| !has_values).collect();
        assert!(empty.is_empty(), "{empty:#?}");
    };
    tokio::select! {
        () = checks => {}
        () = work(&client) => {}
    }
}
