//! Quotas, which only a real server has.

use std::time::Duration;

use zklock::{Config, LockError};
use zklock_testkit::ZooKeeper;
use zookeeper_client as zk;

use crate::support::{failed, outsider_at, soon, until};

#[tokio::test]
async fn a_candidate_leads_once_the_quota_permits_it() {
    let server = ZooKeeper::builder().system_property("zookeeper.enforceQuota", "true").start().unwrap();
    let outsider = outsider_at(server.connect_string()).await;
    let persistent = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
    let quota = "/zookeeper/quota/limited";
    outsider.create("/limited", b"", &persistent).await.unwrap();
    outsider.create(quota, b"", &persistent).await.unwrap();
    let limits = format!("{quota}/zookeeper_limits");
    outsider.create(&limits, &limit(1), &persistent).await.unwrap();
    outsider.create(&format!("{quota}/zookeeper_stats"), &limit(-1), &persistent).await.unwrap();
    let config = Config::new(server.connect_string()).session_timeout(Duration::from_secs(6));
    let leader = config.connect().await.unwrap().leader("/limited/leader").unwrap();
    assert!(matches!(failed(soon(leader.term()).await), LockError::Refused { .. }));
    outsider.set_data(&limits, &limit(100), None).await.unwrap();
    until(|| async { leader.term().await.is_ok_and(|term| term.is_some()) }, "it leads").await;
}

/// Limits the number of nodes.
fn limit(count: i64) -> Vec<u8> {
    format!("count=-1,bytes=-1;byteHardLimit=-1;countHardLimit={count}").into_bytes()
}
