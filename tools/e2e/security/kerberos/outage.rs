//! A key distribution center that does not answer while a client connects again.

use zklock_testkit::{How, Proxy};

use super::Realm;
use super::agent::Running;
use crate::secured::namespace;

fn milliseconds(agent: &mut Running, what: &str) -> u64 {
    let told = agent.told();
    let text = told.strip_prefix(what).and_then(|text| text.strip_suffix(" ms"));
    text.unwrap_or_else(|| panic!("{told}")).trim().parse().unwrap()
}

#[test]
fn calls_time_out_and_locks_are_lost_in_time_while_the_login_waits() {
    let realm = Realm::start();
    let proxy = Proxy::start(realm.zookeeper.address()).unwrap();
    let agent = realm.worker("outage").variable("ZKLOCK_CONNECT", proxy.connect_string());
    let agent = agent.variable("ZKLOCK_NAMESPACE", namespace());
    let mut agent = agent.variable("ZKLOCK_SESSION_TIMEOUT", "10s").start();
    assert_eq!(agent.told(), "held");
    realm.kdc.pause().unwrap();
    proxy.cut(How::Rst);
    // The Kerberos library waits for a silent center for longer than 25 seconds.
    assert!(milliseconds(&mut agent, "timed out after") < 12_000);
    assert!(milliseconds(&mut agent, "lost after") < 20_000);
    assert!(milliseconds(&mut agent, "shut down after") < 12_000);
    realm.kdc.resume().unwrap();
}
