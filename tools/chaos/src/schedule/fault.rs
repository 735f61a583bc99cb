//! The faults.

use std::time::Duration;

use clap::ValueEnum;

/// A fault with its choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A process is killed, and started again after this time.
    KillClient { process: usize, down: Duration },
    /// A process stands still.
    StopClient { process: usize, lasts: Duration },
    /// A server is killed, and started again after this time.
    KillServer { server: Target, down: Duration },
    /// Each server is killed and started again, one after the other.
    RollingRestart,
    /// Servers stand still and keep their connections: one of them, or a majority.
    SilentServers { servers: Vec<Target>, lasts: Duration },
    /// A process loses its connections, in order or by a reset.
    Cut { process: usize, side: Side },
    /// Nothing arrives between a process and some servers in one or both directions.
    Silence { process: usize, servers: Vec<usize>, side: Side, lasts: Duration },
    /// Everything between a process and all servers is late, and no two servers by the same time.
    SlowLink { process: usize, delay: Duration, lasts: Duration },
    /// The reply to one of the next requests of a process is lost with its connection.
    LostReply { process: usize, request: Request, lasts: Duration },
    /// The connections of all processes of zklock end right behind each request of one kind, which the servers still get.
    BrokenRequest { request: Request, lasts: Duration },
    /// An outsider ends the session of a process.
    EndSession { process: usize },
    /// An outsider deletes the node of a contender; `pick` chooses it.
    DeleteNode { pick: u64 },
    /// An outsider deletes each node of a lock that has no contender, again and again.
    ReapContainers { lasts: Duration },
    /// A process is started again with a clock of another rate, in thousandths of the true one.
    SkewClock { process: usize, rate: u32 },
    /// A server cannot write to any file.
    FullDisk { server: Target, lasts: Duration },
    /// The traffic between a server and the others, as leader and followers, is late.
    LaggingServer { server: Target, delay: Duration, lasts: Duration },
    /// A server stands still for a moment, again and again.
    SlowDisk { server: Target, stopped: Duration, lasts: Duration },
}

/// A server: a certain one, or the one that leads when the fault begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Server(usize),
    Leader,
}

/// The way in which a connection fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    ToServer,
    ToClient,
    Both,
}

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Create,
    Delete,
    Transaction,
    List,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
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
    FullDisk,
    SlowDisk,
}

impl Kind {
    pub(crate) const ALL: [Self; 19] = [
        Self::KillClient,
        Self::StopClient,
        Self::KillServer,
        Self::KillLeader,
        Self::RollingRestart,
        Self::SilentServer,
        Self::Cut,
        Self::OneWay,
        Self::Silence,
        Self::SlowLink,
        Self::LostReply,
        Self::BrokenRequest,
        Self::EndSession,
        Self::DeleteNode,
        Self::ReapContainers,
        Self::SkewClock,
        Self::LaggingServer,
        Self::SlowDisk,
        Self::FullDisk,
    ];

    /// Returns whether ZooKeeper keeps its own promises under faults of this kind. After a failed write to its log, a
    /// server of 3.8.0 can go on with a log that lacks some transactions, and then has other data than the others.
    pub(crate) fn spares_data(self) -> bool {
        self != Self::FullDisk
    }

    /// Returns whether faults of this kind can take the majority of the servers.
    pub(crate) fn is_of_servers(self) -> bool {
        matches!(
            self,
            Self::KillServer
                | Self::KillLeader
                | Self::RollingRestart
                | Self::SilentServer
                | Self::LaggingServer
                | Self::FullDisk
                | Self::SlowDisk
        )
    }

    /// Returns the name for the command line and the report.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl Fault {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::KillClient { .. } => Kind::KillClient,
            Self::StopClient { .. } => Kind::StopClient,
            Self::KillServer { server: Target::Server(_), .. } => Kind::KillServer,
            Self::KillServer { server: Target::Leader, .. } => Kind::KillLeader,
            Self::RollingRestart => Kind::RollingRestart,
            Self::SilentServers { .. } => Kind::SilentServer,
            Self::Cut { .. } => Kind::Cut,
            Self::Silence { side: Side::Both, .. } => Kind::Silence,
            Self::Silence { .. } => Kind::OneWay,
            Self::SlowLink { .. } => Kind::SlowLink,
            Self::LostReply { .. } => Kind::LostReply,
            Self::BrokenRequest { .. } => Kind::BrokenRequest,
            Self::EndSession { .. } => Kind::EndSession,
            Self::DeleteNode { .. } => Kind::DeleteNode,
            Self::ReapContainers { .. } => Kind::ReapContainers,
            Self::SkewClock { .. } => Kind::SkewClock,
            Self::LaggingServer { .. } => Kind::LaggingServer,
            Self::FullDisk { .. } => Kind::FullDisk,
            Self::SlowDisk { .. } => Kind::SlowDisk,
        }
    }

    /// Returns the time from the beginning of the fault to its end, as it is planned.
    pub(crate) fn lasts(&self) -> Duration {
        match self {
            Self::KillClient { down, .. } | Self::KillServer { down, .. } => *down,
            Self::StopClient { lasts, .. }
            | Self::SilentServers { lasts, .. }
            | Self::Silence { lasts, .. }
            | Self::SlowLink { lasts, .. }
            | Self::LostReply { lasts, .. }
            | Self::BrokenRequest { lasts, .. }
            | Self::ReapContainers { lasts }
            | Self::LaggingServer { lasts, .. }
            | Self::FullDisk { lasts, .. }
            | Self::SlowDisk { lasts, .. } => *lasts,
            Self::RollingRestart => ROLLING,
            Self::Cut { .. } | Self::EndSession { .. } | Self::DeleteNode { .. } | Self::SkewClock { .. } => {
                Duration::ZERO
            }
        }
    }

    /// Returns the process that the fault strikes, if it is known before.
    #[cfg(test)]
    pub(crate) fn process(&self) -> Option<usize> {
        match self {
            Self::KillClient { process, .. }
            | Self::StopClient { process, .. }
            | Self::Cut { process, .. }
            | Self::Silence { process, .. }
            | Self::SlowLink { process, .. }
            | Self::LostReply { process, .. }
            | Self::EndSession { process }
            | Self::SkewClock { process, .. } => Some(*process),
            _ => None,
        }
    }

    /// Returns the servers that the fault strikes and that are known before.
    #[cfg(test)]
    pub(crate) fn servers(&self) -> Vec<usize> {
        let known = |target: &Target| match target {
            Target::Server(server) => Some(*server),
            Target::Leader => None,
        };
        match self {
            Self::KillServer { server, .. }
            | Self::LaggingServer { server, .. }
            | Self::FullDisk { server, .. }
            | Self::SlowDisk { server, .. } => known(server).into_iter().collect(),
            Self::SilentServers { servers, .. } => servers.iter().filter_map(known).collect(),
            Self::Silence { servers, .. } => servers.clone(),
            _ => Vec::new(),
        }
    }
}

/// The time that three restarts take on a machine that does other work.
const ROLLING: Duration = Duration::from_secs(15);
