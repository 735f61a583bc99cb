//! The behaviour of a ZooKeeper server, without sockets and without a clock.
//!
//! The caller tells a [`Model`] about connections, their frames and the time, and takes from it the messages
//! to send and the connections to close. The model is deterministic: the same calls with the same times
//! always produce the same outputs. Its results are those of a standalone ZooKeeper 3.9, and the names in its
//! comments are those of ZooKeeper's source.
//!
//! Enforced quotas, users of SASL, reconfiguration and the requests that servers send to themselves are not supported.

mod acl;
mod answers;
mod quotas;
mod reads;
mod sessions;
mod tree;
mod watches;
mod writes;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;

use acl::Identities;
use sessions::Sessions;
pub use sessions::session_password;
use tree::Tree;
use watches::Watches;

use crate::wire::{
    ConnectRequest, ConnectResponse, ErrorCode, Opcode, ReplyHeader, Request, RequestHeader, Response, Stat,
    WatchEvent, xid,
};

/// A standalone ZooKeeper server.
///
/// ```
/// use std::net::Ipv4Addr;
/// use std::time::Duration;
/// use zklock_testkit::model::{Model, Settings};
/// use zklock_testkit::wire::{Create, CreateFlags, Request};
///
/// let mut model = Model::new(Settings::default(), Duration::ZERO);
/// let connection = model.open(Ipv4Addr::LOCALHOST.into());
/// let session = model.open_session(connection, Duration::from_secs(4), Duration::ZERO);
/// let create = Create::new("/a", "data", CreateFlags::EPHEMERAL);
/// model.request(connection, 1, Request::Create(create), Duration::ZERO);
/// assert_eq!(model.node("/a").unwrap().ephemeral_owner, session);
///
/// model.advance(Duration::from_secs(10));
/// assert!(model.node("/a").is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    settings: Settings,
    /// The time in milliseconds, since 1970 or since any other start that the caller uses.
    now: i64,
    /// How far the wall clock, by which transactions are stamped, is ahead of `now`, in milliseconds.
    ahead: i64,
    /// The id of the last transaction.
    zxid: i64,
    tree: Tree,
    sessions: Sessions,
    watches: Watches,
    connections: BTreeMap<ConnectionId, Connection>,
    next_connection: u64,
    next_container_check: i64,
    outputs: Vec<Output>,
}

impl Model {
    /// Creates a server that was never used; `now` is the time since 1970.
    pub fn new(settings: Settings, now: Duration) -> Self {
        let now = millis(now);
        Self {
            now,
            ahead: 0,
            zxid: 0,
            tree: Tree::new(),
            sessions: Sessions::new(settings.tick(), now),
            watches: Watches::default(),
            connections: BTreeMap::new(),
            next_connection: 0,
            next_container_check: now.saturating_add(settings.container_check()),
            outputs: Vec::new(),
            settings,
        }
    }

    /// Accepts a connection from an address.
    pub fn open(&mut self, from: IpAddr) -> ConnectionId {
        let id = ConnectionId(self.next_connection);
        self.next_connection += 1;
        let connection = Connection { session: None, identities: Identities::of_address(from) };
        self.connections.insert(id, connection);
        id
    }

    /// Handles the first frame of a connection, which opens a session or attaches to one.
    pub fn connect(&mut self, connection: ConnectionId, request: &ConnectRequest, now: Duration) {
        self.advance(now);
        if !self.connections.contains_key(&connection) {
            return;
        }
        if request.last_zxid_seen > self.zxid {
            return self.close(connection);
        }
        let timeout = self.settings.negotiate(request.timeout);
        let attached = match request.session_id {
            0 => {
                self.zxid += 1;
                Some(self.sessions.open(timeout, self.now))
            }
            id => self.take_over(id, request.password.as_deref()),
        };
        let attached = attached.filter(|&id| self.sessions.attach(id, timeout, self.now));
        let read_only = request.read_only.map(|_| false);
        let (timeout, session_id, password) = match attached {
            Some(id) => (timeout, id, session_password(id)),
            None => (0, 0, [0; 16]),
        };
        let password = Some(password.to_vec().into());
        let response = ConnectResponse { protocol_version: 0, timeout, session_id, password, read_only };
        if let Some(state) = self.connections.get_mut(&connection) {
            state.session = attached;
        }
        self.send(connection, Message::Connected(response));
        if attached.is_none() {
            self.close(connection);
        }
    }

    /// Opens a session on a connection, as a client would, and returns its id.
    pub fn open_session(&mut self, connection: ConnectionId, timeout: Duration, now: Duration) -> i64 {
        let timeout = timeout.as_millis().try_into().unwrap_or(i32::MAX);
        self.connect(connection, &ConnectRequest::with_timeout(timeout), now);
        self.session_of(connection).unwrap_or_default()
    }

    /// Handles a request, and closes the connection if it has no session.
    pub fn request(&mut self, connection: ConnectionId, xid: i32, request: Request, now: Duration) {
        self.advance(now);
        let Some(session) = self.session_of(connection) else {
            return self.close(connection);
        };
        self.sessions.touch(session, self.now);
        match request {
            Request::Ping => self.reply(connection, xid::PING, Ok(Response::Empty)),
            Request::Auth { scheme, auth } => self.authenticate(connection, xid, &scheme, auth.as_deref()),
            Request::CloseSession => {
                self.end_session(session);
                self.reply(connection, xid, Ok(Response::Empty));
                self.close(connection);
            }
            // A server without users accepts any login, and knows nobody by it.
            Request::Unknown { opcode: Opcode::SASL, .. } => {
                self.reply(connection, xid, Ok(Response::Token(None)));
            }
            Request::Unknown { opcode: Opcode::RECONFIG, .. } => {
                self.next_txn();
                self.reply(connection, xid, Err(ErrorCode::RECONFIG_DISABLED));
            }
            Request::Unknown { .. } | Request::Check(_) => {
                let header = ReplyHeader { xid, zxid: Self::NO_ZXID, error: ErrorCode::UNIMPLEMENTED };
                self.send(connection, Message::Reply(header, Response::Empty));
                self.close(connection);
            }
            request => {
                let result = self.answer(connection, request);
                self.reply(connection, xid, result);
            }
        }
    }

    /// Handles a request of which only the header could be decoded.
    ///
    /// Like a real server, the model answers with [`ErrorCode::MARSHALLING_ERROR`] and keeps the connection
    /// open. It closes the connection if the request was an authentication, or if there is no session.
    pub fn malformed(&mut self, connection: ConnectionId, header: RequestHeader, now: Duration) {
        self.advance(now);
        match self.session_of(connection) {
            Some(session) if header.opcode != Opcode::AUTH => {
                self.sessions.touch(session, self.now);
                self.reply(connection, header.xid, Err(ErrorCode::MARSHALLING_ERROR));
            }
            _ => self.close(connection),
        }
    }

    /// Removes a connection that is gone, and its watches.
    pub fn disconnect(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
        self.watches.disconnect(connection);
    }

    /// Advances the time, which ends expired sessions, and deletes used-up containers and nodes
    /// that have outlived their time to live.
    pub fn advance(&mut self, now: Duration) {
        self.now = self.now.max(millis(now));
        for session in self.sessions.expired(self.now) {
            self.expire(session);
        }
        if self.now >= self.next_container_check {
            self.next_container_check = self.now.saturating_add(self.settings.container_check());
            self.reap();
        }
    }

    /// Sets the wall clock forward, by which transactions are stamped and nodes outlive their time to live.
    ///
    /// The clock by which sessions expire is another one, as on a real server.
    pub fn advance_wall_clock(&mut self, by: Duration) {
        self.ahead = self.ahead.saturating_add(millis(by));
    }

    /// Returns when [`advance`](Self::advance) must be called next, if nothing else happens before.
    pub fn next_deadline(&self) -> Duration {
        let next = self
            .sessions
            .next_expiry()
            .map_or(self.next_container_check, |expiry| expiry.min(self.next_container_check));
        Duration::from_millis(next.try_into().unwrap_or_default())
    }

    /// Ends a session as its expiry would.
    pub fn expire(&mut self, session: i64) {
        self.end_session(session);
        self.disconnect_session(session);
    }

    /// Closes the connection of a session; the session stays alive.
    pub fn disconnect_session(&mut self, session: i64) {
        let mut connections = self.connections.iter();
        let connection = connections.find(|(_, state)| state.session == Some(session)).map(|(id, _)| *id);
        connection.into_iter().for_each(|connection| self.close(connection));
    }

    /// Leaves a node out of the list of its parent's children, as
    /// [`EmbeddedServer::unlist`](crate::EmbeddedServer::unlist) does.
    pub fn unlist(&mut self, path: &str) -> Result<(), ErrorCode> {
        self.tree.find(path)?;
        self.tree.find_mut(tree::parent_of(path)?)?.children.remove(tree::name_of(path));
        Ok(())
    }

    /// Sets the number that the next sequential child of a node gets.
    pub fn set_counter(&mut self, path: &str, next: i32) -> Result<(), ErrorCode> {
        self.tree.find_mut(path)?.creates = next;
        Ok(())
    }

    /// Takes the outputs since the last call.
    pub fn take_outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }

    /// Closes the connection of a session, and returns the session if the password is right.
    fn take_over(&mut self, session: i64, password: Option<&[u8]>) -> Option<i64> {
        self.disconnect_session(session);
        (password == Some(&session_password(session))).then_some(session)
    }

    fn session_of(&self, connection: ConnectionId) -> Option<i64> {
        self.connections.get(&connection)?.session
    }

    /// Restarts the server: connections and watches are gone, and the timeout of every session starts anew.
    pub fn restart(&mut self, now: Duration) {
        self.now = self.now.max(millis(now));
        self.disconnect_all();
        self.sessions.restart(self.now);
    }

    /// Restarts the server without any data, session or transaction.
    ///
    /// New sessions and connections get ids that were not assigned before.
    pub fn restart_empty(&mut self, now: Duration) {
        let now = now.max(Duration::from_millis(self.now.max(0).unsigned_abs()));
        let mut new = Self::new(self.settings.clone(), now);
        new.sessions.next_id = new.sessions.next_id.max(self.sessions.next_id);
        *self = Self { ahead: self.ahead, next_connection: self.next_connection, ..new };
    }

    /// Removes all connections, their watches and their pending outputs.
    pub fn disconnect_all(&mut self) {
        self.connections.clear();
        self.watches = Watches::default();
        self.outputs.clear();
    }

    /// Returns the live sessions in the order of their ids.
    pub fn sessions(&self) -> Vec<SessionView> {
        let connections = self.connections.iter().filter_map(|(id, state)| Some((state.session?, *id)));
        let connections: BTreeMap<_, _> = connections.collect();
        let view = |(id, session): (&i64, &sessions::Session)| SessionView {
            id: *id,
            timeout: Duration::from_millis(session.timeout.max(0).unsigned_abs().into()),
            connection: connections.get(id).copied(),
        };
        self.sessions.live.iter().map(view).collect()
    }

    /// Returns the number of open connections.
    pub fn connection_count(&self) -> usize {
        self.connections.len()
    }

    /// Returns the stat of a node, or `None` if the node does not exist.
    pub fn node(&self, path: &str) -> Option<Stat> {
        self.tree.get(path).map(tree::Node::stat)
    }

    /// Returns the data of a node, or `None` if the node does not exist or has no data.
    pub fn data(&self, path: &str) -> Option<Bytes> {
        self.tree.get(path)?.data.bytes.clone()
    }

    /// Returns the sorted names of a node's children, or `None` if the node does not exist.
    pub fn children(&self, path: &str) -> Option<Vec<String>> {
        Some(self.tree.get(path)?.children.iter().cloned().collect())
    }

    /// Returns the number for the next sequential child of a node, or `None` if the node does not exist.
    pub fn counter(&self, path: &str) -> Option<i32> {
        Some(self.tree.get(path)?.creates)
    }

    /// Returns the sorted paths of all nodes.
    pub fn paths(&self) -> Vec<String> {
        self.tree.paths().map(str::to_owned).collect()
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> usize {
        self.tree.len()
    }

    /// Returns the paths of the ephemeral nodes, by session.
    pub fn ephemerals(&self) -> BTreeMap<i64, BTreeSet<String>> {
        let mut sessions = BTreeMap::<_, BTreeSet<_>>::new();
        for (session, path) in self.tree.ephemerals() {
            sessions.entry(session).or_default().insert(path.to_owned());
        }
        sessions
    }

    /// Returns the total size of the paths and the data of all nodes, in bytes.
    pub fn data_size(&self) -> usize {
        let size = |path: &str| path.len() + self.data(path).map_or(0, |data| data.len());
        self.tree.paths().map(size).sum()
    }

    /// Returns the number of watches.
    pub fn watch_count(&self) -> usize {
        self.watches.len()
    }

    /// Returns the sessions that watch each path.
    pub fn watches(&self) -> BTreeMap<String, BTreeSet<i64>> {
        self.by_session(self.watches.by_path())
    }

    /// Returns the sessions that watch each path for more than its children, which are all the watches that a
    /// real server's four-letter words report.
    pub fn data_watches(&self) -> BTreeMap<String, BTreeSet<i64>> {
        self.by_session(self.watches.data.by_path())
    }

    fn by_session<'a>(
        &self,
        watches: impl IntoIterator<Item = (&'a str, BTreeSet<ConnectionId>)>,
    ) -> BTreeMap<String, BTreeSet<i64>> {
        let sessions = |connections: BTreeSet<ConnectionId>| {
            connections.into_iter().filter_map(|connection| self.session_of(connection)).collect()
        };
        watches.into_iter().map(|(path, watchers)| (path.to_owned(), sessions(watchers))).collect()
    }

    /// Returns the id of the last transaction.
    pub fn zxid(&self) -> i64 {
        self.zxid
    }
}

/// A session as a server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionView {
    /// The session's id.
    pub id: i64,
    /// The negotiated timeout.
    pub timeout: Duration,
    /// The connection that it is attached to, if it is attached.
    pub connection: Option<ConnectionId>,
}

/// The settings of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// ZooKeeper's `tickTime`, at least 1 ms; sessions expire at multiples of it.
    pub tick_time: Duration,
    /// The shortest session timeout that the server grants; two ticks if not set.
    pub min_session_timeout: Option<Duration>,
    /// The longest session timeout that the server grants; twenty ticks if not set.
    pub max_session_timeout: Option<Duration>,
    /// The interval between deletions of used-up containers: `znode.container.checkIntervalMs`.
    ///
    /// A container is used up if it had children and has none left.
    ///
    /// Nodes that have outlived their time to live are deleted at the same times.
    pub container_check_interval: Duration,
    /// Whether clients may create nodes with a time to live: `zookeeper.extendedTypesEnabled`, which is off by default.
    pub ttl_nodes: bool,
    /// The digest of the superuser, who may do everything: `USER:BASE64(SHA1(USER:PASSWORD))`. There is none if
    /// it is not set: `zookeeper.DigestAuthenticationProvider.superDigest`.
    pub super_digest: Option<String>,
}

impl Default for Settings {
    /// Returns ZooKeeper's defaults, such as a tick of two seconds.
    fn default() -> Self {
        Self {
            tick_time: Duration::from_secs(2),
            min_session_timeout: None,
            max_session_timeout: None,
            container_check_interval: Duration::from_secs(60),
            ttl_nodes: false,
            super_digest: None,
        }
    }
}

impl Settings {
    /// Returns the tick in milliseconds.
    fn tick(&self) -> i64 {
        millis(self.tick_time).max(1)
    }

    /// Returns the interval between checks of the containers, in milliseconds.
    fn container_check(&self) -> i64 {
        millis(self.container_check_interval).max(1)
    }

    /// Returns the timeout that a client gets if it requests `asked`, both in milliseconds.
    pub(crate) fn negotiate(&self, asked: i32) -> i32 {
        let ticks = |count| self.tick().saturating_mul(count);
        let least = self.min_session_timeout.map_or_else(|| ticks(2), millis);
        let greatest = self.max_session_timeout.map_or_else(|| ticks(20), millis);
        i64::from(asked).max(least).min(greatest).try_into().unwrap_or(i32::MAX)
    }
}

/// The id of a connection, which no other connection of the same model gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(u64);

/// An action on a connection, to be performed in the order of the outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// Send a message.
    Send(ConnectionId, Message),
    /// Close the connection after all earlier messages have been sent.
    Close(ConnectionId),
}

/// A frame that a server sends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// The first frame of a connection.
    Connected(ConnectResponse),
    /// The reply to a request.
    Reply(ReplyHeader, Response),
    /// A watch event.
    Event(ReplyHeader, WatchEvent),
}

#[derive(Clone, Debug)]
struct Connection {
    /// The attached session: `None` before the first frame, and after a session was refused.
    session: Option<i64>,
    identities: Identities,
}

fn millis(time: Duration) -> i64 {
    time.as_millis().try_into().unwrap_or(i64::MAX)
}
