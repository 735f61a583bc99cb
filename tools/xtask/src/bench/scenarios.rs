//! The measurements that are made, and their arguments.

/// Clients that are measured at the same work.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// The scenario of the benchmark, and its options.
    arguments: (&'static str, &'static str),
    /// The clients in the order of their turns.
    pub(crate) clients: &'static [Client],
}

/// A client, and the arguments that are its own.
type Client = (&'static str, &'static str);

impl Scenario {
    /// Returns the arguments for one of the clients. The bare requests are a scenario of their own.
    pub(crate) fn arguments(&self, (client, own): Client) -> String {
        let (work, options) = self.arguments;
        let words = [if client == RAW.0 { RAW.0 } else { work }, options, own];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

const fn scenario(
    name: &'static str,
    arguments: (&'static str, &'static str),
    clients: &'static [Client],
) -> Scenario {
    Scenario { name, arguments, clients }
}

/// The bare requests of `zookeeper-client`, where no client has to wait for another one.
pub(crate) const RAW: Client = ("raw", "");
/// Apache Curator in the usual way. Other ways follow behind a comma.
pub(crate) const CURATOR: Client = ("Curator", "--client curator");
/// Threads that share an instance are much slower, so zklock is compared with threads that do not.
const SHARED: Client = ("Curator, shared instance", "--client curator --instances session");
/// kazoo is measured only with mutexes.
const KAZOO: Client = ("kazoo", "--client kazoo");
/// This library in the usual way. Other ways follow behind a comma.
pub(crate) const ZKLOCK: Client = ("zklock", "");
const DROPPED: Client = ("zklock, dropped", "--release background");
const RUN: Client = ("zklock, `run`", "--through run");
const ATTRIBUTE: Client = ("zklock, attribute", "--through attribute");
const USUAL: &[Client] = &[CURATOR, ZKLOCK];
const FRESH: &[Client] = &[RAW, CURATOR, KAZOO, ZKLOCK, ATTRIBUTE];

/// `1×64` means one session with 64 tasks.
pub(crate) const SCENARIOS: &[Scenario] = &[
    scenario("mutex 1×1", ("mutex", ""), &[RAW, CURATOR, KAZOO, ZKLOCK, DROPPED]),
    scenario("mutex 1×1, pause 1 ms", ("mutex", "--pause 1ms"), &[RAW, CURATOR, RUN, ATTRIBUTE]),
    scenario("fresh 1×1", ("fresh", ""), FRESH),
    scenario("fresh 1×32", ("fresh", "--tasks 32"), FRESH),
    scenario("fresh 1×1, held for 20 ms", ("fresh", "--hold 20ms"), USUAL),
    scenario("fresh-multi 1×1, 2 locks", ("fresh-multi", ""), USUAL),
    scenario("mutex 2×1", ("mutex", "--sessions 2"), USUAL),
    scenario("mutex 8×1", ("mutex", "--sessions 8"), &[CURATOR, KAZOO, ZKLOCK, DROPPED]),
    scenario("mutex 32×1", ("mutex", "--sessions 32"), USUAL),
    scenario("mutex 1×100", ("mutex", "--tasks 100"), &[CURATOR, SHARED, ZKLOCK]),
    scenario("mutex 8×16", ("mutex", "--sessions 8 --tasks 16"), &[CURATOR, SHARED, ZKLOCK]),
    scenario("distinct 1×64", ("distinct", "--tasks 64"), &[RAW, CURATOR, ZKLOCK]),
    scenario("rw 8×4, 9 reads to 1 write", ("rw", "--sessions 8 --tasks 4"), USUAL),
    scenario("semaphore 8×16, 3 permits", ("semaphore", "--sessions 8 --tasks 16"), USUAL),
    scenario("multi 8×1, 2 locks", ("multi", "--sessions 8"), USUAL),
    scenario("leader 8×1", ("leader", "--sessions 8"), USUAL),
    scenario("reentrant 1×1", ("reentrant", ""), USUAL),
];
