//! The measurements that are made, and their arguments.

/// Clients that are measured at the same work.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    arguments: &'static str,
    /// The arguments for the bare requests, where no client has to wait for another one.
    raw: Option<&'static str>,
    /// The ways to use Curator, and their arguments. The first one is compared with zklock.
    curator: Ways,
    kazoo: Kazoo,
    /// The ways to use zklock, and their arguments.
    zklock: Ways,
}

/// Names of ways to use a library, and their arguments. The name of the usual way is empty.
type Ways = &'static [(&'static str, &'static str)];

/// Whether kazoo is measured, which takes only mutexes.
#[derive(Clone, Copy)]
enum Kazoo {
    Measured,
    LeftOut,
}

impl Scenario {
    const fn new(name: &'static str, arguments: &'static str) -> Self {
        Self { name, arguments, raw: None, curator: USUAL, kazoo: Kazoo::LeftOut, zklock: USUAL }
    }

    const fn beside_raw(self, raw: &'static str) -> Self {
        Self { raw: Some(raw), ..self }
    }

    const fn beside_shared_instances(self) -> Self {
        Self { curator: SHARED_TOO, ..self }
    }

    const fn beside_kazoo(self) -> Self {
        Self { kazoo: Kazoo::Measured, ..self }
    }

    const fn in_ways(self, zklock: Ways) -> Self {
        Self { zklock, ..self }
    }

    /// Returns the clients in the order of their turns, and their arguments.
    pub(crate) fn clients(&self) -> Vec<(String, String)> {
        let with = |more: &str| format!("{} {more}", self.arguments).trim_end().to_owned();
        let raw = self.raw.map(|raw| (RAW.to_owned(), raw.to_owned()));
        let curator = self.curator.iter();
        let curator =
            curator.map(|(way, more)| (in_way(CURATOR, way), with(&format!("--client curator {more}"))));
        let kazoo = match self.kazoo {
            Kazoo::Measured => Some((KAZOO.to_owned(), with("--client kazoo"))),
            Kazoo::LeftOut => None,
        };
        let zklock = self.zklock.iter().map(|(way, more)| (in_way(ZKLOCK, way), with(more)));
        raw.into_iter().chain(curator).chain(kazoo).chain(zklock).collect()
    }
}

fn in_way(library: &str, way: &str) -> String {
    if way.is_empty() { library.to_owned() } else { format!("{library}, {way}") }
}

/// The bare requests of `zookeeper-client`.
pub(crate) const RAW: &str = "raw";
/// Apache Curator in the usual way. Other ways follow behind a comma.
pub(crate) const CURATOR: &str = "Curator";
const KAZOO: &str = "kazoo";
/// This library in the usual way. Other ways follow behind a comma.
pub(crate) const ZKLOCK: &str = "zklock";

/// `1×64` means one session with 64 tasks.
pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("mutex 1×1", "mutex").beside_raw("raw").beside_kazoo().in_ways(AWAITED_OR_DROPPED),
    Scenario::new("mutex 1×1, pause 1 ms", "mutex --pause 1ms").beside_raw("raw --pause 1ms").in_ways(CALLS),
    Scenario::new("fresh 1×1", "fresh").beside_raw("raw").beside_kazoo().in_ways(GUARD_OR_ATTRIBUTE),
    Scenario::new("fresh 1×32", "fresh --tasks 32")
        .beside_raw("raw --tasks 32")
        .beside_kazoo()
        .in_ways(GUARD_OR_ATTRIBUTE),
    Scenario::new("fresh 1×1, held for 20 ms", "fresh --hold 20ms"),
    Scenario::new("fresh-multi 1×1, 2 locks", "fresh-multi"),
    Scenario::new("mutex 2×1", "mutex --sessions 2"),
    Scenario::new("mutex 8×1", "mutex --sessions 8").beside_kazoo().in_ways(AWAITED_OR_DROPPED),
    Scenario::new("mutex 32×1", "mutex --sessions 32"),
    Scenario::new("mutex 1×100", "mutex --tasks 100").beside_shared_instances(),
    Scenario::new("mutex 8×16", "mutex --sessions 8 --tasks 16").beside_shared_instances(),
    Scenario::new("distinct 1×64", "distinct --tasks 64").beside_raw("raw --tasks 64"),
    Scenario::new("rw 8×4, 9 reads to 1 write", "rw --sessions 8 --tasks 4"),
    Scenario::new("semaphore 8×16, 3 permits", "semaphore --sessions 8 --tasks 16"),
    Scenario::new("multi 8×1, 2 locks", "multi --sessions 8"),
    Scenario::new("reentrant 1×1", "reentrant"),
];

const USUAL: Ways = &[("", "")];
/// Threads that share an instance are much slower, so zklock is compared with threads that do not.
const SHARED_TOO: Ways = &[("", ""), ("shared instance", "--instances session")];
const AWAITED_OR_DROPPED: Ways = &[("", ""), ("dropped", "--release background")];
const GUARD_OR_ATTRIBUTE: Ways = &[("", ""), ("attribute", "--through attribute")];
const CALLS: Ways = &[("`run`", "--through run"), ("attribute", "--through attribute")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_of_a_scenario_has_its_turn() {
        let scenario = Scenario::new("a", "mutex").beside_raw("raw").beside_kazoo();
        let scenario = scenario.beside_shared_instances().in_ways(AWAITED_OR_DROPPED);
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
