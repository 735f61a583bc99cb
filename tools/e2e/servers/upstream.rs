//! The behaviour of the client library that zklock works around, shown on the library itself.
//!
//! `docs/zookeeper-client.md` describes each finding. A test of this module fails when an update of the library changes
//! that behaviour. What it writes to its sockets, and how it reads the frames of a
//! hostile server, has no test.

mod lock;
mod peer;
mod secure;
mod sessions;
mod watches;

use std::fmt::{self, Display};
use std::time::Duration;

use zklock_testkit::Proxy;
use zookeeper_client as zk;

use crate::support::Space;

/// The heading of a finding in `docs/zookeeper-client.md`. It is shown when its test fails.
struct Finding(&'static str);

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zookeeper-client has changed: revise \"{}\" in docs/zookeeper-client.md, and", self.0)?;
        f.write_str(" the part of zklock that is named there")
    }
}

const PERSISTENT: Finding = Finding("Persistent watches are lost on a reconnect");
const PACKETS: Finding = Finding("Many watches break reconnects");
const CONNECTED: Finding = Finding("A broken connection is reported as connected");
const EXPIRED: Finding = Finding("The end of a session is reported late");
const REPLACED: Finding = Finding("A replaced session is not reported");
const ERRORS: Finding = Finding("A broken connection has several errors");
const PAUSES: Finding = Finding("Pauses between attempts double");
const RUNTIME: Finding = Finding("Watchers outlive the runtime of their session");
const LOCK: Finding = Finding("A cancelled lock leaves its node");
const ESCAPES: Finding = Finding("The name of a login is not escaped");
const TOGETHER: Finding = Finding("A login is sent with the request for a session");
const REASONS: Finding = Finding("A refused handshake has no reason");
const HOSTS: Finding = Finding("A host that no certificate can name is a panic");
const INLINE: Finding = Finding("A constant access control list panics for long ids");

const FINDINGS: [&Finding; 14] = [
    &PERSISTENT,
    &PACKETS,
    &CONNECTED,
    &EXPIRED,
    &REPLACED,
    &ERRORS,
    &PAUSES,
    &RUNTIME,
    &LOCK,
    &ESCAPES,
    &TOGETHER,
    &REASONS,
    &HOSTS,
    &INLINE,
];

/// Connects the library through its own proxy.
async fn proxied(space: &Space) -> (Proxy, zk::Client) {
    let proxy = Proxy::start(space.server().address()).expect("a proxy starts");
    let connector = zk::Client::connector().with_session_timeout(Duration::from_secs(10));
    let client = connector.connect(proxy.connect_string()).await.expect("the server accepts a client");
    (proxy, client)
}

const PAGE: &str = include_str!("../../../docs/zookeeper-client.md");

#[test]
fn each_finding_has_its_section() {
    let sections: Vec<_> = PAGE.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let missing: Vec<_> = FINDINGS.iter().filter(|finding| !sections.contains(&finding.0)).collect();
    assert!(missing.is_empty(), "{}", missing[0]);
}

#[test]
fn the_page_is_about_the_version_that_is_locked() {
    let lock = include_str!("../../../Cargo.lock");
    let version = lock.split("name = \"zookeeper-client\"\nversion = \"").nth(1).unwrap();
    let version = version.split('"').next().unwrap();
    assert!(
        PAGE.contains(&format!("`zookeeper-client` {version}")),
        "docs/zookeeper-client.md is not about {version}; read the library again before you name that version there"
    );
}
