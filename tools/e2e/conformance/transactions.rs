//! The requests that are transactions, as the zxids of a server show that no other case uses.

use bytes::Bytes;
use zklock_testkit::wire::{
    AddWatch, CheckVersion, Create, CreateFlags, Delete, ErrorCode, Op, Opcode, Request, SetAcl, SetData,
    SetWatches, WatcherType,
};

use crate::case::cases;
use crate::client::Client;
use crate::server::{Options, Server};

cases! {
    writes_are_transactions_even_if_they_fail,
}

fn create(path: &str) -> Request {
    Request::Create(Create::new(path, "", CreateFlags::PERSISTENT))
}

fn check(path: &str) -> Op {
    Op::Check(CheckVersion { path: path.into(), version: -1 })
}

fn reads() -> Vec<Request> {
    let path = || "/a".to_owned();
    vec![
        Request::Ping,
        Request::Exists { path: path(), watch: true },
        Request::Exists { path: "/no".into(), watch: false },
        Request::GetData { path: path(), watch: true },
        Request::GetChildren { path: path(), watch: false },
        Request::GetChildren2 { path: "/no".into(), watch: false },
        Request::GetAcl { path: path() },
        Request::Sync { path: path() },
        Request::MultiRead(vec![Op::GetData { path: path(), watch: false }]),
        Request::AddWatch(AddWatch { path: path(), mode: 0 }),
        Request::CheckWatches { path: path(), kind: WatcherType::ANY },
        Request::RemoveWatches { path: path(), kind: WatcherType::ANY },
        Request::SetWatches2(SetWatches::default()),
        Request::GetEphemerals { prefix: path() },
        Request::GetAllChildrenNumber { path: path() },
        Request::WhoAmI,
    ]
}

fn writes_that_fail() -> Vec<(Request, ErrorCode)> {
    let bad = |path: &str| Request::Create(Create::new(path, "", CreateFlags(9)));
    let set = |version| SetData { path: "/a".into(), data: None, version };
    let acl = SetAcl { path: "/a".into(), acl: vec![], version: -1 };
    let ttl = Create::new("/b", "", CreateFlags::PERSISTENT_WITH_TTL);
    vec![
        (create("/a"), ErrorCode::NODE_EXISTS),
        (create("/no/b"), ErrorCode::NO_NODE),
        (create("b"), ErrorCode::BAD_ARGUMENTS),
        (bad("/b"), ErrorCode::BAD_ARGUMENTS),
        (Request::CreateTtl { create: ttl, ttl: 1 }, ErrorCode::UNIMPLEMENTED),
        (Request::Delete(Delete { path: "/no".into(), version: -1 }), ErrorCode::NO_NODE),
        (Request::Delete(Delete { path: "/a".into(), version: 5 }), ErrorCode::BAD_VERSION),
        (Request::SetData(set(5)), ErrorCode::BAD_VERSION),
        (Request::SetAcl(acl), ErrorCode::INVALID_ACL),
    ]
}

/// A single case, because starting a server is expensive.
async fn writes_are_transactions_even_if_they_fail(server: &Server) {
    let own = server.own(&Options::default());
    let mut client = own.client().await;
    let mut zxid = client.zxid().await;
    assert_eq!(zxid, 1, "the first transaction is the session");
    assert_eq!(client.full(create("/a")).await.zxid, 2);
    zxid += 1;
    for request in reads() {
        assert_eq!(client.full(request.clone()).await.zxid, zxid, "{request:?}");
    }
    let auth = Request::Auth { scheme: "digest".into(), auth: Some(Bytes::from_static(b"a:b")) };
    assert_eq!(client.full(auth).await.zxid, 0);
    for (request, error) in writes_that_fail() {
        zxid += 1;
        let reply = client.full(request.clone()).await;
        assert_eq!((reply.zxid, reply.outcome), (zxid, Err(error)), "{request:?}");
    }
    for ops in [vec![], vec![check("/a")], vec![check("/no")], vec![check("/a"), check("/a")]] {
        zxid += 1;
        assert_eq!(client.full(Request::Multi(ops.clone())).await.zxid, zxid, "{ops:?}");
    }
    sessions_are_transactions(client, zxid, own.address()).await;
}

async fn sessions_are_transactions(client: Client, zxid: i64, server: std::net::SocketAddr) {
    let session = client.abandon();
    let mut client = Client::attach(server, &session).await;
    assert_eq!(client.zxid().await, zxid, "nothing happens to a session that is attached");
    let mut other = Client::open(server).await;
    assert_eq!(other.zxid().await, zxid + 1);
    other.make_as("/e1", CreateFlags::EPHEMERAL).await;
    other.make_as("/e2", CreateFlags::EPHEMERAL).await;
    assert_eq!(other.full(Request::CloseSession).await.zxid, zxid + 4, "one transaction for all nodes");
    let unknown = Request::Unknown { opcode: Opcode(10), body: Bytes::new() };
    assert_eq!(client.full(unknown).await.outcome, Err(ErrorCode::UNIMPLEMENTED));
    assert_eq!(Client::attach(server, &session).await.zxid().await, zxid + 4);
}
