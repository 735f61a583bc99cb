//! Servers that are reached and open no session: each reason is in the error, the readiness and the log.

use std::time::Duration;

use zklock::Config;
use zklock_testkit::{Ensemble, ZooKeeper};

use crate::support::diagnosis::assert_told;
use crate::support::logs::Loud;
use crate::support::{failed, soon, until};

const WITHIN: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ensemble_without_a_quorum_and_a_server_with_too_many_connections_are_named() {
    Loud::listen();
    let ensemble = Ensemble::builder().start().unwrap();
    for nth in 1..3 {
        ensemble.server(nth).kill().unwrap();
    }
    let alone = ensemble.server(0).connect_string().to_owned();
    let full = ZooKeeper::builder().system_property("zookeeper.maxCnxns", "1").start().unwrap();
    let one = soon(config(full.connect_string()).connect()).await.unwrap();
    assert_told("has too many", full.connect_string(), WITHIN).await;
    assert!(one.readiness().is_ready());
    until_without_quorum(&alone).await;
    assert_told("without a quorum", &alone, WITHIN).await;
}

fn config(servers: &str) -> Config {
    Config::new(servers).connect_timeout(WITHIN)
}

async fn until_without_quorum(server: &str) {
    until(
        async || failed(config(server).connect().await).to_string().contains("without a quorum"),
        "the server has noticed",
    )
    .await;
}
