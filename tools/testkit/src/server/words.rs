//! The answers to four-letter words, with the figures that the embedded server has.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};

use super::core::{Core, Peer};
use crate::model::{ConnectionId, Model, SessionView};

/// The version that `srvr`, `stat`, `mntr` and `envi` report.
const VERSION: &str = concat!("3.9.4-zklock-testkit-", env!("CARGO_PKG_VERSION"));

/// The value of a property that is not known.
const ABSENT: &str = "<NA>";

/// Returns the answer to the word that a connection began with, or `None` if it is not a known word.
pub(super) fn answer(core: &Core, connection: ConnectionId, word: [u8; 4]) -> Option<String> {
    let write: fn(&Core, &mut String) -> fmt::Result = match &word {
        b"ruok" => |_, text| text.write_str("imok"),
        b"srvr" => srvr,
        b"stat" => stat,
        b"mntr" => mntr,
        b"conf" => conf,
        b"cons" => cons,
        b"isro" => |_, text| text.write_str("rw"),
        b"dump" => |core, text| core.model(|model| dump(model, text)),
        b"wchs" => |core, text| core.model(|model| wchs(model, text)),
        b"wchp" => |core, text| core.model(|model| wchp(model, text)),
        b"wchc" => |core, text| core.model(|model| wchc(model, text)),
        b"envi" => |_, text| envi(text),
        b"dirs" => |_, text| dirs(text),
        b"srst" => |core, text| {
            core.reset_traffic();
            writeln!(text, "Server stats reset.")
        },
        b"crst" => |core, text| {
            core.reset_traffic_of_peers();
            writeln!(text, "Connection stats reset.")
        },
        _ => return None,
    };
    core.count_received(connection);
    let mut text = String::new();
    write(core, &mut text).ok()?;
    Some(text)
}

fn srvr(core: &Core, text: &mut String) -> fmt::Result {
    writeln!(text, "Zookeeper version: {VERSION}")?;
    figures(core, text)
}

fn stat(core: &Core, text: &mut String) -> fmt::Result {
    writeln!(text, "Zookeeper version: {VERSION}\nClients:")?;
    for peer in core.peers() {
        writeln!(text, " {}", brief(&peer))?;
    }
    writeln!(text)?;
    figures(core, text)
}

/// Writes the figures that `srvr` and `stat` have in common.
///
/// Each request is answered as soon as it is read, so none is outstanding. Latencies are not measured.
fn figures(core: &Core, text: &mut String) -> fmt::Result {
    let (traffic, connections) = (core.traffic(), core.peers().len());
    let (zxid, nodes) = core.model(|model| (model.zxid(), node_count(model)));
    writeln!(text, "Latency min/avg/max: 0/0.0/0")?;
    writeln!(text, "Received: {}\nSent: {}", traffic.received, traffic.sent)?;
    writeln!(text, "Connections: {connections}\nOutstanding: 0")?;
    writeln!(text, "Zxid: {zxid:#x}\nMode: standalone\nNode count: {nodes}")
}

fn mntr(core: &Core, text: &mut String) -> fmt::Result {
    let (traffic, connections) = (core.traffic(), core.peers().len());
    writeln!(text, "zk_version\t{VERSION}\nzk_server_state\tstandalone")?;
    let mut figure = |name: &str, value: u64| writeln!(text, "zk_{name}\t{value}");
    figure("packets_received", traffic.received)?;
    figure("packets_sent", traffic.sent)?;
    figure("num_alive_connections", connections as u64)?;
    for unmeasured in ["outstanding_requests", "min_latency", "avg_latency", "max_latency"] {
        figure(unmeasured, 0)?;
    }
    core.model(|model| {
        let ephemerals: usize = model.ephemerals().values().map(BTreeSet::len).sum();
        figure("znode_count", node_count(model) as u64)?;
        figure("approximate_data_size", model.data_size() as u64)?;
        figure("watch_count", model.watch_count() as u64)?;
        figure("ephemerals_count", ephemerals as u64)?;
        figure("global_sessions", model.sessions().len() as u64)
    })
}

fn conf(core: &Core, text: &mut String) -> fmt::Result {
    let settings = &core.settings;
    writeln!(text, "clientPort={}", core.address.get().map_or(0, SocketAddr::port))?;
    writeln!(text, "tickTime={}", settings.tick_time.as_millis())?;
    writeln!(text, "minSessionTimeout={}", settings.negotiate(0))?;
    writeln!(text, "maxSessionTimeout={}\nserverId=0", settings.negotiate(i32::MAX))
}

fn cons(core: &Core, text: &mut String) -> fmt::Result {
    let sessions = core.model(Model::sessions);
    for peer in core.peers() {
        let session = sessions.iter().find(|session| session.connection == Some(peer.id));
        write!(text, " {}", brief(&peer))?;
        if let Some(SessionView { id, timeout, .. }) = session {
            // The session is inside the parentheses, as on a real server.
            text.pop();
            write!(text, ",sid={id:#x},to={})", timeout.as_millis())?;
        }
        writeln!(text)?;
    }
    writeln!(text)
}

fn dump(model: &Model, text: &mut String) -> fmt::Result {
    let sessions = model.sessions();
    writeln!(text, "SessionTracker dump:\nSession Sets (1)/({}):", sessions.len())?;
    for session in &sessions {
        writeln!(text, "\t{:#x}", session.id)?;
    }
    writeln!(text, "ephemeral nodes dump:\nSessions with Ephemerals ({}):", model.ephemerals().len())?;
    for (session, paths) in model.ephemerals() {
        writeln!(text, "{session:#x}:")?;
        paths.iter().try_for_each(|path| writeln!(text, "\t{path}"))?;
    }
    writeln!(text, "Connections dump:\nConnections Sets (1)/({}):", model.connection_count())
}

fn wchs(model: &Model, text: &mut String) -> fmt::Result {
    let watches = model.data_watches();
    let sessions: BTreeSet<i64> = watches.values().flatten().copied().collect();
    let total: usize = watches.values().map(BTreeSet::len).sum();
    writeln!(text, "{} connections watching {} paths", sessions.len(), watches.len())?;
    writeln!(text, "Total watches:{total}")
}

fn wchp(model: &Model, text: &mut String) -> fmt::Result {
    for (path, sessions) in model.data_watches() {
        writeln!(text, "{path}")?;
        sessions.iter().try_for_each(|session| writeln!(text, "\t{session:#x}"))?;
    }
    writeln!(text)
}

fn wchc(model: &Model, text: &mut String) -> fmt::Result {
    let mut by_session: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for (path, sessions) in model.data_watches() {
        for session in sessions {
            by_session.entry(session).or_default().push(path.clone());
        }
    }
    for (session, paths) in by_session {
        writeln!(text, "{session:#x}")?;
        paths.iter().try_for_each(|path| writeln!(text, "\t{path}"))?;
    }
    writeln!(text)
}

/// Writes the environment without the properties of a Java machine, which the server does not have.
fn envi(text: &mut String) -> fmt::Result {
    let variable = |name| std::env::var(name).unwrap_or_else(|_| ABSENT.to_owned());
    let directory =
        std::env::current_dir().map_or_else(|_| ABSENT.to_owned(), |path| path.display().to_string());
    writeln!(text, "Environment:\nzookeeper.version={VERSION}\nhost.name={}", Ipv4Addr::LOCALHOST)?;
    writeln!(text, "os.name={}\nos.arch={}", std::env::consts::OS, std::env::consts::ARCH)?;
    writeln!(text, "os.version={ABSENT}\nuser.name={}\nuser.home={}", variable("USER"), variable("HOME"))?;
    writeln!(text, "user.dir={directory}")
}

/// Writes the sizes of the directories that a real server keeps its data in.
fn dirs(text: &mut String) -> fmt::Result {
    writeln!(text, "datadir_size: 0\nlogdir_size: 0")
}

/// Returns the number of nodes, with the root counted twice as on a real server.
fn node_count(model: &Model) -> usize {
    model.node_count() + 1
}

fn brief(peer: &Peer) -> String {
    let Peer { address, traffic, .. } = peer;
    format!("/{address}[1](queued=0,recved={},sent={})", traffic.received, traffic.sent)
}
