//! The answers to four-letter words, with the figures that the embedded server has.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};

use super::core::{Core, Route, State, Traffic};
use crate::model::{ConnectionId, Model, SessionView};

/// The version that `srvr`, `stat`, `mntr` and `envi` report.
const VERSION: &str = concat!("3.9.4-zklock-testkit-", env!("CARGO_PKG_VERSION"));

/// The value of a property that is not known.
const ABSENT: &str = "<NA>";

/// Writes the answer to a word.
type Answer = fn(&Core, &mut State, &mut String) -> fmt::Result;

/// Returns the answer to the word that a connection began with, or `None` if it is not a known word.
pub(super) fn answer(core: &Core, connection: ConnectionId, word: [u8; 4]) -> Option<String> {
    let write: Answer = match &word {
        b"ruok" => |_, _, text| text.write_str("imok"),
        b"srvr" => |_, state, text| srvr(state, text),
        b"stat" => |_, state, text| stat(state, text),
        b"mntr" => |_, state, text| mntr(state, text),
        b"conf" => |core, _, text| conf(core, text),
        b"cons" => |_, state, text| cons(state, text),
        b"isro" => |_, _, text| text.write_str("rw"),
        b"dump" => |_, state, text| dump(&state.model, text),
        b"wchs" => |_, state, text| wchs(&state.model, text),
        b"wchp" => |_, state, text| wchp(&state.model, text),
        b"wchc" => |_, state, text| wchc(&state.model, text),
        b"envi" => |_, _, text| envi(text),
        // Nothing is on a disk.
        b"dirs" => |_, _, text| writeln!(text, "datadir_size: 0\nlogdir_size: 0"),
        b"srst" => |_, state, text| {
            state.traffic = Traffic::default();
            writeln!(text, "Server stats reset.")
        },
        b"crst" => |_, state, text| {
            state.routes.values_mut().for_each(|route| route.traffic = Traffic::default());
            writeln!(text, "Connection stats reset.")
        },
        _ => return None,
    };
    let (state, mut text) = (&mut *core.state(), String::new());
    state.count_received(connection);
    write(core, state, &mut text).ok()?;
    Some(text)
}

fn srvr(state: &State, text: &mut String) -> fmt::Result {
    writeln!(text, "Zookeeper version: {VERSION}")?;
    figures(state, text)
}

fn stat(state: &State, text: &mut String) -> fmt::Result {
    writeln!(text, "Zookeeper version: {VERSION}\nClients:")?;
    for route in state.routes.values() {
        writeln!(text, " {}", brief(route))?;
    }
    writeln!(text)?;
    figures(state, text)
}

/// Writes the figures that `srvr` and `stat` have in common.
///
/// Each request is answered as soon as it is read, so none is outstanding. Latencies are not measured.
fn figures(State { model, routes, traffic }: &State, text: &mut String) -> fmt::Result {
    writeln!(text, "Latency min/avg/max: 0/0.0/0")?;
    writeln!(text, "Received: {}\nSent: {}", traffic.received, traffic.sent)?;
    writeln!(text, "Connections: {}\nOutstanding: 0", routes.len())?;
    writeln!(text, "Zxid: {:#x}\nMode: standalone\nNode count: {}", model.zxid(), node_count(model))
}

fn mntr(State { model, routes, traffic }: &State, text: &mut String) -> fmt::Result {
    let ephemerals: usize = model.ephemerals().values().map(BTreeSet::len).sum();
    writeln!(text, "zk_version\t{VERSION}\nzk_server_state\tstandalone")?;
    let figures = [
        ("packets_received", traffic.received),
        ("packets_sent", traffic.sent),
        ("num_alive_connections", routes.len() as u64),
        ("outstanding_requests", 0),
        ("min_latency", 0),
        ("avg_latency", 0),
        ("max_latency", 0),
        ("znode_count", node_count(model) as u64),
        ("approximate_data_size", model.data_size() as u64),
        ("watch_count", model.watch_count() as u64),
        ("ephemerals_count", ephemerals as u64),
        ("global_sessions", model.sessions().len() as u64),
    ];
    figures.iter().try_for_each(|(name, value)| writeln!(text, "zk_{name}\t{value}"))
}

fn conf(core: &Core, text: &mut String) -> fmt::Result {
    let settings = &core.settings;
    writeln!(text, "clientPort={}", core.address.get().map_or(0, SocketAddr::port))?;
    writeln!(text, "tickTime={}", settings.tick_time.as_millis())?;
    writeln!(text, "minSessionTimeout={}", settings.negotiate(0))?;
    writeln!(text, "maxSessionTimeout={}\nserverId=0", settings.negotiate(i32::MAX))
}

fn cons(state: &State, text: &mut String) -> fmt::Result {
    let sessions = state.model.sessions();
    for (id, route) in &state.routes {
        let session = sessions.iter().find(|session| session.connection == Some(*id));
        write!(text, " {}", brief(route))?;
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

/// Returns the number of nodes, with the root counted twice as on a real server.
fn node_count(model: &Model) -> usize {
    model.node_count() + 1
}

fn brief(Route { peer, traffic, .. }: &Route) -> String {
    format!("/{peer}[1](queued=0,recved={},sent={})", traffic.received, traffic.sent)
}
