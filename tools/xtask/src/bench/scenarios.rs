//! The measurements that are made, and their arguments.

/// Clients that are measured at the same work.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    arguments: &'static str,
    /// The arguments for the bare requests, where no client has to wait for another one.
    raw: Option<&'static str>,
    /// The other clients in the order of their turns, and their further arguments.
    clients: &'static [Client],
}

/// A client, and the arguments that are its own.
type Client = (&'static str, &'static str);

impl Scenario {
    /// Returns the clients in the order of their turns, and their arguments.
    pub(crate) fn clients(&self) -> Vec<(String, String)> {
        let raw = self.raw.map(|raw| (RAW.to_owned(), raw.to_owned()));
        let with = |more: &str| format!("{} {more}", self.arguments).trim_end().to_owned();
        raw.into_iter()
            .chain(self.clients.iter().map(|(client, more)| ((*client).to_owned(), with(more))))
            .collect()
    }
}

const fn scenario(
    name: &'static str,
    arguments: &'static str,
    raw: Option<&'static str>,
    clients: &'static [Client],
) -> Scenario {
    Scenario { name, arguments, raw, clients }
}

/// The bare requests of `zookeeper-client`.
pub(crate) const RAW: &str = "raw";
/// Apache Curator in the usual way. Other ways follow behind a comma.
pub(crate) const CURATOR: &str = "Curator";
/// This library in the usual way. Other ways follow behind a comma.
pub(crate) const ZKLOCK: &str = "zklock";

const OF_CURATOR: Client = (CURATOR, "--client curator");
/// Threads that share an instance are much slower, so zklock is compared with threads that do not.
const SHARED: Client = ("Curator, shared instance", "--client curator --instances session");
/// kazoo is measured only with mutexes.
const OF_KAZOO: Client = ("kazoo", "--client kazoo");
const OF_ZKLOCK: Client = (ZKLOCK, "");
const DROPPED: Client = ("zklock, dropped", "--release background");
const RUN: Client = ("zklock, `run`", "--through run");
const ATTRIBUTE: Client = ("zklock, attribute", "--through attribute");
const USUAL: &[Client] = &[OF_CURATOR, OF_ZKLOCK];

/// `1×64` means one session with 64 tasks.
pub(crate) const SCENARIOS: &[Scenario] = &[
    scenario("mutex 1×1", "mutex", Some("raw"), &[OF_CURATOR, OF_KAZOO, OF_ZKLOCK, DROPPED]),
    scenario(
        "mutex 1×1, pause 1 ms",
        "mutex --pause 1ms",
        Some("raw --pause 1ms"),
        &[OF_CURATOR, RUN, ATTRIBUTE],
    ),
    scenario("fresh 1×1", "fresh", Some("raw"), &[OF_CURATOR, OF_KAZOO, OF_ZKLOCK, ATTRIBUTE]),
    scenario(
        "fresh 1×32",
        "fresh --tasks 32",
        Some("raw --tasks 32"),
        &[OF_CURATOR, OF_KAZOO, OF_ZKLOCK, ATTRIBUTE],
    ),
    scenario("fresh 1×1, held for 20 ms", "fresh --hold 20ms", None, USUAL),
    scenario("fresh-multi 1×1, 2 locks", "fresh-multi", None, USUAL),
    scenario("mutex 2×1", "mutex --sessions 2", None, USUAL),
    scenario("mutex 8×1", "mutex --sessions 8", None, &[OF_CURATOR, OF_KAZOO, OF_ZKLOCK, DROPPED]),
    scenario("mutex 32×1", "mutex --sessions 32", None, USUAL),
    scenario("mutex 1×100", "mutex --tasks 100", None, &[OF_CURATOR, SHARED, OF_ZKLOCK]),
    scenario("mutex 8×16", "mutex --sessions 8 --tasks 16", None, &[OF_CURATOR, SHARED, OF_ZKLOCK]),
    scenario("distinct 1×64", "distinct --tasks 64", Some("raw --tasks 64"), USUAL),
    scenario("rw 8×4, 9 reads to 1 write", "rw --sessions 8 --tasks 4", None, USUAL),
    scenario("semaphore 8×16, 3 permits", "semaphore --sessions 8 --tasks 16", None, USUAL),
    scenario("multi 8×1, 2 locks", "multi --sessions 8", None, USUAL),
    scenario("reentrant 1×1", "reentrant", None, USUAL),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_of_a_scenario_has_its_turn() {
        let scenario =
            scenario("a", "mutex", Some("raw"), &[OF_CURATOR, SHARED, OF_KAZOO, OF_ZKLOCK, DROPPED]);
        let expected = [
            ("raw", "raw"),
            ("Curator", "mutex --client curator"),
            ("Curator, shared instance", "mutex --client curator --instances session"),
            ("kazoo", "mutex --client kazoo"),
            ("zklock", "mutex"),
            ("zklock, dropped", "mutex --release background"),
        ];
        assert_eq!(scenario.clients(), expected.map(|(client, text)| (client.to_owned(), text.to_owned())));
    }

    #[test]
    fn scenarios_have_names_of_their_own() {
        let mut names: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SCENARIOS.len());
    }
}
