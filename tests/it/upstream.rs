//! The behaviour of the client library that zklock works around, shown on the library itself.
//!
//! `docs/upstream.md` describes each finding. A test of this module fails when an update of the library changes
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

/// A finding in `docs/upstream.md`. It is shown when its test fails.
struct Finding {
    heading: &'static str,
    /// The part of zklock that works around it.
    workaround: &'static str,
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { heading, workaround } = self;
        write!(f, "zookeeper-client has changed: revise \"{heading}\" in docs/upstream.md, and {workaround}")
    }
}

const NO_DELAY: Finding =
    Finding { heading: "Nagle's algorithm is on", workaround: "`Flight` of `session::ops::entry`" };
const WRITES: Finding = Finding {
    heading: "Requests that are ready together are written one by one",
    workaround: "`Flight` of `session::ops::entry`",
};
const PERSISTENT: Finding = Finding {
    heading: "Persistent watches are lost on a reconnect",
    workaround: "the one-shot watches of `session::ops`",
};
const PACKETS: Finding =
    Finding { heading: "Many watches break reconnects", workaround: "`Budget` of `session::notice`" };
const CONNECTED: Finding = Finding {
    heading: "A broken connection is reported as connected",
    workaround: "`publish` of `session::connection`",
};
const EXPIRED: Finding =
    Finding { heading: "The end of a session is reported late", workaround: "`session::clock`" };
const REPLACED: Finding =
    Finding { heading: "A replaced session is not reported", workaround: "`session::roll`" };
const ERRORS: Finding =
    Finding { heading: "A broken connection has several errors", workaround: "`session::fault`" };
const PAUSES: Finding =
    Finding { heading: "Pauses between attempts double", workaround: "`attempts` of `session::opening`" };
const RUNTIME: Finding =
    Finding { heading: "Watchers outlive the runtime of their session", workaround: "`client::worker`" };
const LOCK: Finding =
    Finding { heading: "A cancelled lock leaves its node", workaround: "the choice against `Client::lock`" };

const LISTS: Finding = Finding {
    heading: "A list reserves memory for as many elements as it claims",
    workaround: "\"What is not protected\" in SECURITY.md",
};
const LENGTHS: Finding = Finding {
    heading: "A frame may have any length",
    workaround: "\"What is not protected\" in SECURITY.md",
};
const YIELD: Finding = Finding {
    heading: "A flood of frames keeps the thread",
    workaround: "\"What is not protected\" in SECURITY.md",
};
const CHALLENGES: Finding = Finding {
    heading: "A challenge of a login is parsed without end",
    workaround: "\"What is not protected\" in SECURITY.md",
};
const ESCAPES: Finding =
    Finding { heading: "The name of a login is not escaped", workaround: "`Login::new` of `session::login`" };
const REASONS: Finding =
    Finding { heading: "A refused handshake has no reason", workaround: "`session::tls::handshake`" };
const HOSTS: Finding = Finding {
    heading: "A host that no certificate can name is a panic",
    workaround: "`Scheme::entry` of `client::connect_string`",
};
const INLINE: Finding = Finding {
    heading: "A constant access control list panics for long ids",
    workaround: "the choice against it in `session::acl`",
};

const FINDINGS: [&Finding; 19] = [
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

const PAGE: &str = include_str!("../../docs/upstream.md");

#[test]
fn each_finding_has_its_section() {
    let sections: Vec<_> = PAGE.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(sections, FINDINGS.map(|finding| finding.heading));
}

#[test]
fn the_page_is_about_the_version_that_is_locked() {
    let lock = include_str!("../../Cargo.lock");
    let version = lock.split("name = \"zookeeper-client\"\nversion = \"").nth(1).unwrap();
    let version = version.split('"').next().unwrap();
    assert!(
        PAGE.contains(&format!("`zookeeper-client` {version}")),
        "docs/upstream.md is not about {version}; read the library again before you name that version there"
    );
}
