//! The server of the simulation: the testkit's model, and the requests that a driver sends to it.

use std::cell::OnceCell;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use zklock_testkit::model::{ConnectionId, Message, Model, Output, Settings};
use zklock_testkit::wire::{Create, CreateFlags, Delete, ErrorCode, Op, Request, Response};

use crate::queue::acquisition::{Node, Replacement};
use crate::queue::contender::{Contender, ContenderId};
use crate::queue::predicate::Role;

/// The path of the lock's node.
const PARENT: &str = "/lock";

/// The counter of a new parent. It reaches its end while the lock is in use.
const FIRST: i32 = i32::MAX - 2;

/// The time of every request. It is constant, because sessions expire only by a step of the simulation.
const NOW: Duration = Duration::from_secs(1);

/// A server with a session for each peer and one that replaces it, and with one for an outsider.
#[derive(Clone)]
pub(super) struct Server {
    /// Shared with the worlds that it was cloned from, and copied on write.
    model: Rc<Model>,
    /// The connections of the peers at present, and that of the outsider.
    connections: Vec<ConnectionId>,
    /// The connections of the peers with sessions that replace their own.
    others: Rc<[ConnectionId]>,
    /// The zxids of the transactions that created contenders. Only their order matters.
    births: Vec<i64>,
    /// The view of the current state, once it was asked for.
    view: OnceCell<Rc<View>>,
}

/// The part of a server's state that affects later steps.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct View {
    counter: Option<i32>,
    nodes: Rc<[Node]>,
    births: usize,
}

impl Server {
    pub(super) fn new(peers: usize) -> Self {
        let mut model = Model::new(Settings::default(), NOW);
        let open = |index| {
            let connection = model.open(Ipv4Addr::LOCALHOST.into());
            assert_eq!(model.open_session(connection, Duration::from_secs(10), NOW), Self::session_of(index));
            connection
        };
        let mut connections: Vec<_> = (0..=2 * peers).map(open).collect();
        let others = connections.split_off(peers + 1).into();
        model.take_outputs();
        Self { model: Rc::new(model), connections, others, births: Vec::new(), view: OnceCell::new() }
    }

    /// Returns the session id of a peer, as the peer knows it. The model numbers its sessions consecutively.
    pub(super) fn session_of(index: usize) -> i64 {
        /// A standalone server has the number one, and numbers its sessions from its start time.
        const FIRST_SESSION: i64 = (1 << 56) | ((NOW.as_millis() as i64) << 16);
        FIRST_SESSION + index as i64
    }

    pub(super) fn view(&self) -> Rc<View> {
        let view = || View {
            counter: self.model.counter(PARENT),
            nodes: self.listed().into(),
            births: self.births.len(),
        };
        self.view.get_or_init(|| Rc::new(view())).clone()
    }

    /// The model, to be changed.
    fn model(&mut self) -> &mut Model {
        self.view.take();
        Rc::make_mut(&mut self.model)
    }

    pub(super) fn has_parent(&self) -> bool {
        self.model.node(PARENT).is_some()
    }

    /// Returns the contenders' nodes in the order of their creation.
    pub(super) fn nodes(&self) -> Rc<[Node]> {
        self.view().nodes.clone()
    }

    fn listed(&self) -> Vec<Node> {
        let paths = self.model.children(PARENT).unwrap_or_default();
        let contenders = paths.iter().filter(|name| Contender::parse(name).is_some());
        let mut nodes: Vec<_> = contenders.filter_map(|name| self.stat(name)).collect();
        nodes.sort_by_key(|node| node.zxid);
        nodes
    }

    fn birth(&self, czxid: i64) -> i64 {
        self.births.partition_point(|&birth| birth < czxid) as i64
    }

    pub(super) fn create_parent(&mut self, index: usize) {
        let create = Create::new(PARENT, "", CreateFlags::CONTAINER);
        if self.request(index, Request::CreateContainer(create)).is_ok() {
            self.model().set_counter(PARENT, FIRST).expect("the parent was created");
        }
    }

    pub(super) fn create(&mut self, index: usize, id: ContenderId, role: Role) -> Option<Node> {
        let path = format!("{PARENT}/{}", id.node_prefix(role));
        let create = Create::new(path, "", CreateFlags::EPHEMERAL_SEQUENTIAL);
        let (path, stat) = match self.request(index, Request::Create2(create)) {
            Ok(Response::Created { path, stat }) => (path, stat),
            Err(ErrorCode::NO_NODE) => return None,
            other => panic!("a create was answered by {other:?}"),
        };
        self.births.push(stat.czxid);
        self.view.take();
        let name = path.rsplit('/').next().expect("a path has a last part").into();
        Some(Node { zxid: self.birth(stat.czxid), owner: stat.ephemeral_owner, name })
    }

    /// Creates the parent and a contender in one transaction, or returns `None` if the parent exists.
    pub(super) fn create_queue(&mut self, index: usize, id: ContenderId, role: Role) -> Option<Node> {
        if self.has_parent() {
            return None;
        }
        let prefix = format!("{PARENT}/{}", id.node_prefix(role));
        let parent = Create::new(PARENT, "", CreateFlags::CONTAINER);
        let contender = Create::new(&prefix, "", CreateFlags::EPHEMERAL_SEQUENTIAL);
        let transaction = vec![Op::CreateContainer(parent), Op::Create2(contender)];
        let Ok(Response::Multi(results)) = self.request(index, Request::Multi(transaction)) else {
            panic!("a transaction is answered");
        };
        let [_, (_, Ok(Response::Created { path, stat }))] = &results[..] else {
            panic!("a queue is created with its contender: {results:?}");
        };
        self.births.push(stat.czxid);
        self.view.take();
        let name = path.rsplit('/').next().expect("a path has a last part").into();
        Some(Node { zxid: self.birth(stat.czxid), owner: stat.ephemeral_owner, name })
    }

    /// Returns the children, or `None` if the parent does not exist.
    ///
    /// Reads are not sent as requests: a request would copy a model that is shared with other worlds.
    pub(super) fn list(&self) -> Option<Vec<String>> {
        self.model.children(PARENT)
    }

    pub(super) fn stat(&self, name: &str) -> Option<Node> {
        let stat = self.model.node(&format!("{PARENT}/{name}"))?;
        Some(Node { name: name.into(), zxid: self.birth(stat.czxid), owner: stat.ephemeral_owner })
    }

    pub(super) fn delete(&mut self, index: usize, name: &str) {
        self.delete_path(index, format!("{PARENT}/{name}"));
    }

    /// Replaces a node, and tells whether the new one exists.
    pub(super) fn replace(&mut self, index: usize, replacement: &Replacement) -> bool {
        let path = |name: &str| format!("{PARENT}/{name}");
        let create = Create::new(path(&replacement.new), "", CreateFlags::EPHEMERAL);
        let delete = Delete { path: path(&replacement.old.name), version: -1 };
        match self.request(index, Request::Multi(vec![Op::Create2(create), Op::Delete(delete)])) {
            Ok(Response::Multi(results)) => {
                let mut failed = results.iter().filter_map(|(_, outcome)| outcome.as_ref().err().copied());
                let failed = failed.find(|error| *error != ErrorCode::OK);
                if let Some((_, Ok(Response::Created { stat, .. }))) = results.first() {
                    self.births.push(stat.czxid);
                    self.view.take();
                }
                matches!(failed, None | Some(ErrorCode::NODE_EXISTS))
            }
            other => panic!("a transaction was answered by {other:?}"),
        }
    }

    pub(super) fn outsider_deletes(&mut self, name: &str) {
        self.delete(self.connections.len() - 1, name);
    }

    pub(super) fn outsider_deletes_parent(&mut self) {
        self.delete_path(self.connections.len() - 1, PARENT.to_owned());
    }

    pub(super) fn expire(&mut self, index: usize) {
        self.expire_session(Self::session_of(index));
    }

    /// Gives a peer another session without telling it.
    pub(super) fn replace_session(&mut self, index: usize) {
        self.connections[index] = self.others[index];
    }

    pub(super) fn expire_replacement(&mut self, index: usize) {
        self.expire_session(self.replacement_of(index));
    }

    /// Returns the id of the session that replaces that of a peer.
    pub(super) fn replacement_of(&self, index: usize) -> i64 {
        Self::session_of(self.connections.len() + index)
    }

    fn expire_session(&mut self, session: i64) {
        let model = self.model();
        model.expire(session);
        model.take_outputs();
    }

    fn delete_path(&mut self, index: usize, path: String) {
        let deleted = self.request(index, Request::Delete(Delete { path, version: -1 }));
        assert!(matches!(deleted, Ok(_) | Err(ErrorCode::NO_NODE)), "{deleted:?}");
    }

    fn request(&mut self, index: usize, request: Request) -> Result<Response, ErrorCode> {
        let connection = self.connections[index];
        let model = self.model();
        model.request(connection, 1, request, NOW);
        let replies = model.take_outputs().into_iter().find_map(|output| match output {
            Output::Send(to, Message::Reply(header, response)) if to == connection => {
                Some(if header.error == ErrorCode::OK { Ok(response) } else { Err(header.error) })
            }
            _ => None,
        });
        replies.expect("the server answers a live session")
    }
}
