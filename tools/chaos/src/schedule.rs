//! The schedule of faults: a pure function of its plan.
//!
//! A fault names a process and a server by number. The parts that cannot be known before the run, such as the server
//! that leads, or the nodes that exist, are found when the fault begins.

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use clap::ValueEnum;
use fastrand::Rng;
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Direction, How};

/// The choices that a schedule follows from.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) length: Duration,
    pub(crate) servers: usize,
    pub(crate) processes: usize,
    /// The kinds of faults to draw from, none for a run without faults.
    pub(crate) kinds: Vec<Kind>,
}

/// A fault, and the time from the beginning of the run at which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) at: Duration,
    pub(crate) fault: Fault,
}

impl Plan {
    /// Returns the faults in the order of their times. Each of them ends before the run does.
    pub(crate) fn schedule(&self) -> Vec<Planned> {
        let mut rng = Rng::with_seed(self.seed);
        let (mut at, mut planned) = (QUIET, Vec::new());
        // One fault of the servers at a time, because each can take their majority.
        let mut servers_are_whole_at = Duration::ZERO;
        while at + QUIET < self.length && !self.kinds.is_empty() {
            let kind = self.kinds[rng.usize(..self.kinds.len())];
            let fault = kind.draw(&mut rng, self);
            let ends = at + fault.lasts;
            let is_allowed = !kind.is_of_servers() || at >= servers_are_whole_at;
            if is_allowed && ends + QUIET <= self.length {
                if kind.is_of_servers() {
                    servers_are_whole_at = ends + RECOVERY;
                }
                planned.push(Planned { at, fault });
            }
            at += Duration::from_millis(rng.u64(PAUSE_MS));
        }
        planned
    }
}

/// The time without faults at both ends of a run.
const QUIET: Duration = Duration::from_secs(2);
/// The time that servers get to agree again after a fault of one of them.
const RECOVERY: Duration = Duration::from_secs(3);
/// The time from one fault to the next.
const PAUSE_MS: RangeInclusive<u64> = 300..=3_000;

/// A fault with its choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// The time from the beginning of the fault to its end, as it is planned.
    pub(crate) lasts: Duration,
    pub(crate) strike: Strike,
}

/// The target of a fault, and what happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    Process(usize, Blow),
    /// The links of some processes fail.
    Impair(Range<usize>, Impairment),
    /// An outsider ends the session of a process.
    EndSession(usize),
    /// An outsider deletes the node of a contender, which this number chooses.
    DeleteNode(u64),
    /// An outsider deletes each node of a lock that has no contender, again and again.
    ReapContainers,
    /// A server is killed, and started again at the end.
    KillServer(Target),
    /// Each server is killed and started again, one after the other.
    RollingRestart,
    /// Servers stand still and keep their connections: one of them, or a majority.
    SilentServers(Vec<Target>),
    /// The traffic between a server and the others, as leader and followers, is late by this time.
    LaggingServer(Target, Duration),
    /// A server cannot write to any file.
    FullDisk(Target),
    /// A server stands still for this time, again and again.
    SlowDisk(Target, Duration),
}

/// A fault of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Blow {
    /// It is killed, and started again at the end.
    Kill,
    /// It stands still.
    Stop,
    /// It is started again with a clock of another rate, in thousandths of the true one.
    Skew(u32),
    /// It loses its connections.
    Cut(How),
}

/// A fault of the links from a process to the servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Impairment {
    /// Nothing arrives between the process and these servers.
    Silence(Vec<usize>, Direction),
    /// Everything is late, and later at each further server.
    Delay(Duration),
    /// The next reply of each server to such a request is lost with its connection. It is the next one once more when
    /// another fault of the links ends meanwhile.
    LostReply(Opcode),
    /// Connections end right behind each such request, which the servers still get.
    Broken(Opcode),
}

/// A server: a certain one, or the one that leads when the fault begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Server(usize),
    Leader,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    KillClient,
    StopClient,
    KillServer,
    KillLeader,
    RollingRestart,
    SilentServer,
    Cut,
    OneWay,
    Silence,
    SlowLink,
    LostReply,
    BrokenRequest,
    EndSession,
    DeleteNode,
    ReapContainers,
    SkewClock,
    LaggingServer,
    SlowDisk,
    FullDisk,
}

impl Kind {
    /// Returns whether ZooKeeper keeps its own promises under faults of this kind. After a failed write to its log, a
    /// server of 3.8.0 can go on with a log that lacks some transactions, and then has other data than the others.
    pub(crate) fn spares_data(self) -> bool {
        self != Self::FullDisk
    }

    /// Returns whether faults of this kind can take the majority of the servers.
    pub(crate) fn is_of_servers(self) -> bool {
        use Kind::*;
        matches!(
            self,
            KillServer | KillLeader | RollingRestart | SilentServer | LaggingServer | FullDisk | SlowDisk
        )
    }

    /// Returns the name for the command line and the report.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn draw(self, rng: &mut Rng, plan: &Plan) -> Fault {
        let (process, server) = (rng.usize(..plan.processes), any_server(rng, plan));
        let links = process..process + 1;
        let (lasts_ms, strike) = match self {
            Self::KillClient => (100..=3_000, Strike::Process(process, Blow::Kill)),
            Self::StopClient => (500..=9_000, Strike::Process(process, Blow::Stop)),
            Self::KillServer => (100..=6_000, Strike::KillServer(Target::Server(rng.usize(..plan.servers)))),
            Self::KillLeader => (100..=6_000, Strike::KillServer(Target::Leader)),
            Self::RollingRestart => (ROLLING_MS..=ROLLING_MS, Strike::RollingRestart),
            Self::SilentServer => (500..=8_000, Strike::SilentServers(silent_servers(rng, plan))),
            Self::Cut => {
                let how = one_of(rng, &[How::Fin, How::Rst]);
                (0..=0, Strike::Process(process, Blow::Cut(how)))
            }
            Self::OneWay => {
                let direction = one_of(rng, &[Direction::ToServer, Direction::ToClient]);
                let silence = Impairment::Silence(some(rng, plan.servers), direction);
                (500..=8_000, Strike::Impair(links, silence))
            }
            Self::Silence => {
                let silence = Impairment::Silence(some(rng, plan.servers), Direction::Both);
                (500..=9_000, Strike::Impair(links, silence))
            }
            Self::SlowLink => {
                (2_000..=8_000, Strike::Impair(links, Impairment::Delay(millis(rng, 10..=400))))
            }
            Self::LostReply => {
                (1_000..=3_000, Strike::Impair(links, Impairment::LostReply(one_of(rng, REQUESTS))))
            }
            Self::BrokenRequest => {
                let broken = Impairment::Broken(one_of(rng, REQUESTS));
                (1_000..=3_000, Strike::Impair(0..plan.processes, broken))
            }
            Self::EndSession => (0..=0, Strike::EndSession(process)),
            Self::DeleteNode => (0..=0, Strike::DeleteNode(rng.u64(..))),
            Self::ReapContainers => (1_000..=3_000, Strike::ReapContainers),
            Self::SkewClock => {
                let rate = one_of(rng, &[992, 996, 1_004, 1_008]);
                (0..=0, Strike::Process(process, Blow::Skew(rate)))
            }
            // A client has half a second for a new connection, for which a follower asks the leader.
            Self::LaggingServer => (2_000..=8_000, Strike::LaggingServer(server, millis(rng, 50..=240))),
            Self::SlowDisk => (2_000..=6_000, Strike::SlowDisk(server, millis(rng, 50..=400))),
            Self::FullDisk => (1_000..=5_000, Strike::FullDisk(server)),
        };
        Fault { kind: self, lasts: millis(rng, lasts_ms), strike }
    }
}

/// Draws any server, and the leader more often than the others.
fn any_server(rng: &mut Rng, plan: &Plan) -> Target {
    if rng.u8(..3) == 0 { Target::Leader } else { Target::Server(rng.usize(..plan.servers)) }
}

/// Draws one server, or now and then a majority.
fn silent_servers(rng: &mut Rng, plan: &Plan) -> Vec<Target> {
    if rng.u8(..4) != 0 {
        return vec![any_server(rng, plan)];
    }
    let mut all: Vec<_> = (0..plan.servers).map(Target::Server).collect();
    rng.shuffle(&mut all);
    all.truncate(plan.servers / 2 + 1);
    all
}

/// Draws some of the servers, and all of them in half of the cases.
fn some(rng: &mut Rng, servers: usize) -> Vec<usize> {
    let left_out = if rng.bool() { None } else { Some(rng.usize(..servers)) };
    (0..servers).filter(|server| Some(*server) != left_out).collect()
}

fn one_of<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.usize(..choices.len())]
}

fn millis(rng: &mut Rng, range: RangeInclusive<u64>) -> Duration {
    Duration::from_millis(rng.u64(range))
}

/// The requests that can fail, with a create more often than the others.
const REQUESTS: &[Opcode] =
    &[Opcode::CREATE2, Opcode::CREATE2, Opcode::DELETE, Opcode::MULTI, Opcode::GET_CHILDREN];
/// The time that three restarts take on a machine that does other work.
const ROLLING_MS: u64 = 15_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seed: u64) -> Plan {
        let kinds = Kind::value_variants().to_vec();
        Plan { seed, length: Duration::from_secs(1_200), servers: 3, processes: 8, kinds }
    }

    #[test]
    fn the_same_seed_gives_the_same_schedule() {
        assert_eq!(plan(7).schedule(), plan(7).schedule());
        assert_ne!(plan(7).schedule(), plan(8).schedule());
    }

    #[test]
    fn a_long_schedule_has_faults_of_every_kind_in_order_and_within_the_run() {
        let planned = plan(1).schedule();
        assert!(planned.is_sorted_by_key(|planned| planned.at));
        assert!(planned.iter().all(|planned| planned.at + planned.fault.lasts <= plan(1).length));
        for kind in Kind::value_variants() {
            assert!(planned.iter().any(|planned| planned.fault.kind == *kind), "{kind:?}");
        }
    }

    #[test]
    fn faults_of_servers_do_not_overlap() {
        let planned = plan(2).schedule();
        let of_servers: Vec<_> =
            planned.iter().filter(|planned| planned.fault.kind.is_of_servers()).collect();
        for pair in of_servers.windows(2) {
            assert!(pair[0].at + pair[0].fault.lasts < pair[1].at, "{pair:?}");
        }
    }

    #[test]
    fn a_plan_without_kinds_has_no_faults_and_one_of_a_kind_has_no_others() {
        assert!(Plan { kinds: Vec::new(), ..plan(1) }.schedule().is_empty());
        let planned = Plan { kinds: vec![Kind::KillClient], ..plan(1) }.schedule();
        assert!(planned.len() > 50 && planned.iter().all(|planned| planned.fault.kind == Kind::KillClient));
    }
}
