//! The counters of the server.

use std::io;
use std::net::ToSocketAddrs;
use std::time::Duration;

use zklock_testkit::four_letter;

use crate::Failure;

/// The counters of a server at one time, or their change between two times.
pub(crate) struct Counters {
    pub(crate) requests: u64,
    /// The watches that fired. Servers before 3.6 do not count them.
    pub(crate) events: Option<u64>,
}

impl Counters {
    /// Asks for the counters, which is itself counted as a request.
    pub(crate) fn of(server: &str) -> Result<Self, Failure> {
        let answer = mntr(server).map_err(|error| format!("cannot ask {server} for `mntr`: {error}"))?;
        let value = |name: &str| {
            answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t')?.parse::<u64>().ok())
        };
        let requests = value(REQUESTS);
        let requests =
            requests.ok_or_else(|| format!("{server} sent no `{REQUESTS}` in reply to `mntr`: {answer}"))?;
        Ok(Self { requests, events: EVENTS.iter().map(|name| value(name)).sum() })
    }

    pub(crate) fn since(&self, before: &Self) -> Self {
        let requests = self.requests.saturating_sub(before.requests + 1);
        let events = self.events.zip(before.events);
        Self { requests, events: events.map(|(after, before)| after.saturating_sub(before)) }
    }
}

fn mntr(server: &str) -> io::Result<String> {
    let address = server.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    four_letter::ask(address, "mntr", ANSWER_WITHIN)
}

const REQUESTS: &str = "zk_packets_received";

/// The sums of the watches that fired, by the kind of change.
const EVENTS: [&str; 4] = [
    "zk_sum_node_created_watch_count",
    "zk_sum_node_deleted_watch_count",
    "zk_sum_node_changed_watch_count",
    "zk_sum_node_children_watch_count",
];

/// The time that a server may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
