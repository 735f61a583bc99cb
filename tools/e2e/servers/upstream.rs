//! The behaviour of the client library that zklock works around, shown on the library itself.
//!
//! `docs/zookeeper-client.md` describes each finding. A test of this module fails when an update of the library changes
//! that behaviour.

mod connections;
mod lock;
mod peer;
mod reading;
mod secure;
mod sessions;
mod watches;

use std::fmt::{self, Display};
use std::time::Duration;

use zklock_testkit::Proxy;
use zookeeper_client as zk;

use crate::support::Space;

/// A finding in `docs/zookeeper-client.md`. It is shown when its test fails.
struct Finding {
    heading: &'static str,
    /// The part of zklock that works around it.
    workaround: &'static str,
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { heading, workaround } = self;
        write!(
            f,
            "zookeeper-client has changed: revise \"{heading}\" in docs/zookeeper-client.md, and {workaround}"
        )
    }
}

const fn finding(heading: &'static str, workaround: &'static str) -> Finding {
    Finding { heading, workaround }
}

/// The section for findings that nothing works around.
const HOSTILE: &str = "\"What a hostile server can do\" in SECURITY.md";

const NO_DELAY: Finding = finding("Nagle's algorithm is on", "`Flight` of `session::requests::entry`");
const WRITES: Finding = finding(
    "Requests that are ready together are written one by one",
    "`Flight` of `session::requests::entry`",
);
const PERSISTENT: Finding =
    finding("Persistent watches are lost on a reconnect", "the one-shot watches of `session::requests`");
const PACKETS: Finding = finding("Many watches break reconnects", "`session::reconnect`");
const CONNECTED: Finding =
    finding("A broken connection is reported as connected", "`over` of `session::connection`");
const EXPIRED: Finding = finding("The end of a session is reported late", "`session::clock`");
const REPLACED: Finding = finding("A replaced session is not reported", "`attempt` of `session::reconnect`");
const ERRORS: Finding = finding("A broken connection has several errors", "`session::request_error`");
const PAUSES: Finding = finding("Pauses between attempts double", "`pause` of `session::reconnect`");
const RUNTIME: Finding = finding("Watchers outlive the runtime of their session", "`session::connection`");
const LOCK: Finding = finding("A cancelled lock leaves its node", "the choice against `Client::lock`");

const LISTS: Finding = finding("A list reserves memory for as many elements as it claims", HOSTILE);
const LENGTHS: Finding = finding("A frame may have any length", HOSTILE);
const YIELD: Finding = finding("A flood of frames keeps the thread", HOSTILE);
const CHALLENGES: Finding = finding("A challenge of a login is parsed without end", HOSTILE);
const ESCAPES: Finding =
    finding("The name of a login is not escaped", "`Digest::new` of `session::security`");
const TOGETHER: Finding =
    finding("A login is sent with the request for a session", "`connect` of `session::security`");
const REASONS: Finding = finding("A refused handshake has no reason", "`session::diagnose`");
const HOSTS: Finding =
    finding("A host that no certificate can name is a panic", "`Scheme::entry` of `client::connect_string`");
const INLINE: Finding =
    finding("A constant access control list panics for long ids", "the choice against it in `session::acl`");

const FINDINGS: [&Finding; 20] = [
    &NO_DELAY,
    &WRITES,
    &PERSISTENT,
    &PACKETS,
    &CONNECTED,
    &EXPIRED,
    &REPLACED,
    &ERRORS,
    &PAUSES,
    &RUNTIME,
    &LOCK,
    &LISTS,
    &LENGTHS,
    &YIELD,
    &CHALLENGES,
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
    assert_eq!(sections, FINDINGS.map(|finding| finding.heading));
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
