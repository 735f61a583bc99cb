//! The faults, and how their choices are drawn.

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use clap::ValueEnum;
use fastrand::Rng;
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Direction, How};

use super::Plan;

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

/// The kind of a fault.
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

    /// Draws a fault of this kind.
    pub(super) fn draw(self, rng: &mut Rng, plan: &Plan) -> Fault {
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
