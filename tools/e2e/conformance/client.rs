use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};

use bytes::Bytes;
use zklock_testkit::Conversation;
use zklock_testkit::conversation::{ConversationError, Reply};
use zklock_testkit::wire::{
    Acl, ConnectRequest, ConnectResponse, Create, CreateFlags, Delete, ErrorCode, EventType, Id, Request,
    Response, SetAcl, SetData, Stat, WatchEvent,
};

/// A conversation that must not break. Only the server's answers may be errors.
pub(crate) struct Client(Conversation);

impl Deref for Client {
    type Target = Conversation;

    fn deref(&self) -> &Conversation {
        &self.0
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut Conversation {
        &mut self.0
    }
}

impl Client {
    pub(crate) async fn open(server: SocketAddr) -> Self {
        Self::connect(server, ConnectRequest::default()).await
    }

    pub(crate) async fn connect(server: SocketAddr, request: ConnectRequest) -> Self {
        Self(Conversation::connect(server, request).await.expect("the server gives a session"))
    }

    pub(crate) async fn attach(server: SocketAddr, session: &ConnectResponse) -> Self {
        Self::connect(server, ConnectRequest::attach(session)).await
    }

    pub(crate) async fn close(self) {
        self.0.close().await.expect("the session is closed");
    }

    pub(crate) fn abandon(self) -> ConnectResponse {
        self.0.abandon()
    }

    pub(crate) async fn full(&mut self, request: Request) -> Reply {
        self.0.call(request).await.expect("the server answers")
    }

    pub(crate) async fn ask(&mut self, request: Request) -> Result<Response, ErrorCode> {
        self.full(request).await.outcome
    }

    /// Returns the last transaction that the server has applied.
    pub(crate) async fn zxid(&mut self) -> i64 {
        self.full(Request::Ping).await.zxid
    }

    pub(crate) async fn create(&mut self, create: Create) -> Result<String, ErrorCode> {
        match self.ask(Request::Create(create)).await? {
            Response::Path(path) => Ok(path),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn created(&mut self, request: Request) -> Result<(String, Stat), ErrorCode> {
        match self.ask(request).await? {
            Response::Created { path, stat } => Ok((path, stat)),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn make(&mut self, path: &str) {
        self.make_as(path, CreateFlags::PERSISTENT).await;
    }

    pub(crate) async fn make_as(&mut self, path: &str, flags: CreateFlags) -> String {
        self.create(Create::new(path, "", flags)).await.expect("the node is created")
    }

    pub(crate) async fn make_for(&mut self, path: &str, acl: Vec<Acl>) {
        let create = Create { acl, ..Create::new(path, "", CreateFlags::PERSISTENT) };
        self.create(create).await.expect("the node is created");
    }

    pub(crate) async fn delete(&mut self, path: &str) -> Result<(), ErrorCode> {
        self.ask(Request::Delete(Delete { path: path.into(), version: -1 })).await.map(drop)
    }

    pub(crate) async fn stat(&mut self, path: &str) -> Result<Stat, ErrorCode> {
        let request = Request::Exists { path: path.into(), watch: false };
        self.ask(request).await.map(stat_of)
    }

    pub(crate) async fn data(&mut self, path: &str) -> Result<(Option<Bytes>, Stat), ErrorCode> {
        match self.ask(Request::GetData { path: path.into(), watch: false }).await? {
            Response::Data { data, stat } => Ok((data, stat)),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn children(&mut self, path: &str) -> Result<Vec<String>, ErrorCode> {
        match self.ask(Request::GetChildren { path: path.into(), watch: false }).await? {
            Response::Children(names) => Ok(sorted(names)),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn set(&mut self, path: &str, data: &str) -> Result<Stat, ErrorCode> {
        let data = Some(Bytes::from(data.to_owned()));
        self.ask(Request::SetData(SetData { path: path.into(), data, version: -1 })).await.map(stat_of)
    }

    pub(crate) async fn acl(&mut self, path: &str) -> Result<(Vec<Acl>, Stat), ErrorCode> {
        match self.ask(Request::GetAcl { path: path.into() }).await? {
            Response::Acl { acl, stat } => Ok((acl, stat)),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn set_acl(&mut self, path: &str, acl: Vec<Acl>) -> Result<Stat, ErrorCode> {
        self.ask(Request::SetAcl(SetAcl { path: path.into(), acl, version: -1 })).await.map(stat_of)
    }

    pub(crate) async fn authenticate(&mut self, user: &str, password: &str) {
        let auth = Some(Bytes::from(format!("{user}:{password}")));
        let answer = self.ask(Request::Auth { scheme: "digest".into(), auth }).await;
        assert_eq!(answer, Ok(Response::Empty));
    }

    pub(crate) async fn watch_data(&mut self, path: &str) {
        self.ask(Request::GetData { path: path.into(), watch: true }).await.expect("the node is there");
    }

    pub(crate) async fn watch_children(&mut self, path: &str) {
        self.ask(Request::GetChildren { path: path.into(), watch: true }).await.expect("the node is there");
    }

    pub(crate) async fn watch_exists(&mut self, path: &str) -> Result<Stat, ErrorCode> {
        self.ask(Request::Exists { path: path.into(), watch: true }).await.map(stat_of)
    }

    /// Returns all events of the requests that have been answered so far.
    pub(crate) async fn seen(&mut self) -> Vec<WatchEvent> {
        self.0.events().await.expect("the server answers")
    }

    /// Waits until the server closes the connection, without sending anything more.
    pub(crate) async fn is_closed(&mut self) {
        let rest = self.0.until_closed().await.expect("the server closes the connection");
        assert_eq!(rest, []);
    }
}

/// Returns the error of a connection that gets no session.
pub(crate) async fn refusal(server: SocketAddr, request: ConnectRequest) -> ConversationError {
    match Conversation::connect(server, request).await {
        Ok(conversation) => panic!("expected no session, got: {:?}", conversation.session()),
        Err(error) => error,
    }
}

pub(crate) fn stat_of(response: Response) -> Stat {
    match response {
        Response::Stat(stat) => stat,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

pub(crate) fn created(path: impl Into<String>) -> WatchEvent {
    WatchEvent { event: EventType::Created, path: path.into() }
}

pub(crate) fn deleted(path: impl Into<String>) -> WatchEvent {
    WatchEvent { event: EventType::Deleted, path: path.into() }
}

pub(crate) fn children_changed(path: impl Into<String>) -> WatchEvent {
    WatchEvent { event: EventType::ChildrenChanged, path: path.into() }
}

pub(crate) fn world(permissions: i32) -> Acl {
    Acl::new(permissions, Id::new("world", "anyone"))
}
