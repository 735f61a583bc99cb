use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::future::join_all;
use zklock_testkit::conversation::Message;
use zklock_testkit::wire::{
    AddWatch, CheckVersion, Create, CreateFlags, Delete, Op, Request, SetAcl, SetData, SetWatches,
    WatcherType,
};

use super::script::{Ask, Node, PATHS, Read, Script, Since, Turn, Watch, Watches, Way, Write};
use super::view::View;
use crate::client::Client;
use crate::server::Running;

/// One of the servers, and the sessions of a run on it.
pub(crate) struct Side {
    address: SocketAddr,
    root: String,
    clients: Vec<Client>,
    /// The zxid of the last reply to each session.
    last: Vec<i64>,
    view: View,
}

impl Side {
    pub(crate) async fn open(server: &Running, root: &str, script: &Script) -> Self {
        let mut first = server.client().await;
        let view = View::new(first.zxid().await, script.zxids);
        first.make(root).await;
        let mut side = Self {
            address: server.address(),
            root: root.to_owned(),
            clients: Vec::new(),
            last: vec![view.start(); script.sessions],
            view,
        };
        side.view.add(first.session_id());
        side.clients.push(first);
        for client in join_all((1..script.sessions).map(|_| Client::open(side.address))).await {
            side.view.add(client.session_id());
            side.clients.push(client);
        }
        side
    }

    async fn new_client(&mut self) -> Client {
        let client = Client::open(self.address).await;
        self.view.add(client.session_id());
        client
    }

    /// Returns the number of sessions that there have been.
    pub(crate) fn sessions(&self) -> usize {
        self.view.sessions()
    }

    /// Takes the turn of one session, and returns the messages that it or the others receive.
    pub(crate) async fn take(&mut self, turn: &Turn) -> Vec<Message> {
        match turn {
            Turn::Ask { session, asks } => {
                let requests = asks.iter().map(|ask| self.request(ask)).collect();
                self.exchange(*session, requests).await
            }
            Turn::Reopen { session } => {
                let new = self.new_client().await;
                std::mem::replace(&mut self.clients[*session], new).close().await;
                self.events_of_all().await
            }
            Turn::Reattach { session, way, watches } => {
                let old = self.clients[*session].session().clone();
                let (address, index) = (self.address, *session);
                if matches!(way, Way::Dropped) {
                    self.clients[index].disconnect().await.expect("the connection is closed");
                }
                let new = Client::attach(address, &old).await;
                let mut left = std::mem::replace(&mut self.clients[index], new);
                if matches!(way, Way::Kicked) {
                    left.until_closed().await.expect("the connection is closed");
                }
                let request = Request::SetWatches2(self.watches(index, watches));
                self.exchange(index, vec![request]).await
            }
        }
    }

    /// Reads all nodes, and ends the sessions.
    pub(crate) async fn end(&mut self) -> Vec<Message> {
        let mut seen = Vec::new();
        let mut all = vec![""];
        all.extend(PATHS);
        let reads = all.into_iter().flat_map(|path| {
            let path = format!("{}{path}", self.root);
            let children = Request::GetChildren2 { path: path.clone(), watch: false };
            [Request::GetData { path: path.clone(), watch: false }, children, Request::GetAcl { path }]
        });
        seen.extend(self.exchange(0, reads.collect()).await);
        for session in 1..self.clients.len() {
            seen.extend(self.exchange(session, vec![Request::Ping]).await);
        }
        join_all(self.clients.drain(..).map(Client::close)).await;
        seen
    }

    /// Sends requests at once, and waits for all of their answers and for the events before those.
    async fn exchange(&mut self, session: usize, requests: Vec<Request>) -> Vec<Message> {
        let client = &mut self.clients[session];
        let mut unanswered = requests.len();
        for request in requests {
            client.send(request).await.expect("the server takes requests");
        }
        let mut seen = Vec::new();
        while unanswered > 0 {
            let message = client.receive().await.expect("the server answers");
            if let Message::Reply(reply) = &message {
                unanswered -= 1;
                self.last[session] = self.last[session].max(reply.zxid);
            }
            seen.push(self.view.of(message));
        }
        seen
    }

    /// Returns the messages of all sessions after nodes were deleted together, which happens in no defined
    /// order.
    async fn events_of_all(&mut self) -> Vec<Message> {
        let mut all = Vec::new();
        for session in 0..self.clients.len() {
            let mut seen = self.exchange(session, vec![Request::Ping]).await;
            seen.sort_by_key(|message| format!("{message:?}"));
            all.extend(seen);
        }
        all
    }

    fn watches(&self, session: usize, watches: &Watches) -> SetWatches {
        let relative_zxid = match watches.since {
            Since::Last => self.last[session],
            Since::Start => self.view.start(),
            Since::Nothing => 0,
        };
        let paths = |paths: &[&str]| paths.iter().map(|path| self.path(path)).collect();
        SetWatches {
            relative_zxid,
            data: paths(&watches.data),
            exist: paths(&watches.exist),
            child: paths(&watches.child),
            persistent: paths(&watches.persistent),
            persistent_recursive: paths(&watches.recursive),
        }
    }

    fn path(&self, below: &str) -> String {
        format!("{}{below}", self.root)
    }

    fn create(&self, node: Node) -> Create {
        Create::new(self.path(node.path), "data", CreateFlags(node.flags))
    }

    fn set(&self, path: &str, version: i32) -> SetData {
        SetData { path: self.path(path), data: Some(Bytes::from_static(b"new data")), version }
    }

    fn delete(&self, path: &str, version: i32) -> Delete {
        Delete { path: self.path(path), version }
    }

    fn request(&self, ask: &Ask) -> Request {
        let path = |path: &str| self.path(path);
        let set = |watch: &Watch| *watch == Watch::Set;
        match ask {
            Ask::Create(node) => Request::Create(self.create(*node)),
            Ask::Create2(node) => Request::Create2(self.create(*node)),
            Ask::CreateContainer(path) => Request::CreateContainer(self.create(Node { path, flags: 4 })),
            Ask::Delete(path, version) => Request::Delete(self.delete(path, *version)),
            Ask::SetData(path, version) => Request::SetData(self.set(path, *version)),
            Ask::Exists(at, watch) => Request::Exists { path: path(at), watch: set(watch) },
            Ask::GetData(at, watch) => Request::GetData { path: path(at), watch: set(watch) },
            Ask::GetChildren(at, watch) => Request::GetChildren { path: path(at), watch: set(watch) },
            Ask::GetChildren2(at, watch) => Request::GetChildren2 { path: path(at), watch: set(watch) },
            Ask::GetAcl(at) => Request::GetAcl { path: path(at) },
            Ask::SetAcl(at, acl, version) => {
                Request::SetAcl(SetAcl { path: path(at), acl: acl.clone(), version: *version })
            }
            Ask::CreateFor(node, acl) => Request::Create(Create { acl: acl.clone(), ..self.create(*node) }),
            Ask::MultiFor(node, acl) => {
                Request::Multi(vec![Op::Create(Create { acl: acl.clone(), ..self.create(*node) })])
            }
            Ask::Auth(proof) => {
                Request::Auth { scheme: "digest".into(), auth: Some(Bytes::from_static(proof.as_bytes())) }
            }
            Ask::WhoAmI => Request::WhoAmI,
            Ask::AddWatch(at, mode) => Request::AddWatch(AddWatch { path: path(at), mode: *mode }),
            Ask::Sync(at) => Request::Sync { path: path(at) },
            Ask::Ping => Request::Ping,
            Ask::Multi(writes) => Request::Multi(writes.iter().map(|write| self.write(write)).collect()),
            Ask::MultiRead(reads) => Request::MultiRead(reads.iter().map(|read| self.read(read)).collect()),
            Ask::RemoveWatches(at, kind) => {
                Request::RemoveWatches { path: path(at), kind: WatcherType(*kind) }
            }
            Ask::GetEphemerals(at) => Request::GetEphemerals { prefix: path(at) },
            Ask::GetAllChildrenNumber(at) => Request::GetAllChildrenNumber { path: path(at) },
            Ask::Exactly(request) => request.clone(),
        }
    }

    fn write(&self, write: &Write) -> Op {
        match write {
            Write::Create(node) => Op::Create(self.create(*node)),
            Write::Delete(path, version) => Op::Delete(self.delete(path, *version)),
            Write::SetData(path, version) => Op::SetData(self.set(path, *version)),
            Write::Check(path, version) => {
                Op::Check(CheckVersion { path: self.path(path), version: *version })
            }
        }
    }

    fn read(&self, read: &Read) -> Op {
        match read {
            Read::Data(path) => Op::GetData { path: self.path(path), watch: false },
            Read::Children(path) => Op::GetChildren { path: self.path(path), watch: false },
        }
    }
}
