//! The permissions that an ACL grants, and the ACLs that are valid.

use zklock_testkit::wire::{
    Acl, CheckVersion, Create, CreateFlags, Delete, ErrorCode, Id, Op, OpResult, Request, Response, SetAcl,
    permissions,
};

use crate::case::cases;
use crate::client::{Client, world};
use crate::server::Server;

cases! {
    reads_need_read,
    new_data_needs_write,
    a_child_is_created_with_create_on_its_parent,
    a_child_is_deleted_with_delete_on_its_parent,
    a_new_acl_needs_admin,
    an_acl_is_told_to_readers_and_administrators,
    a_check_needs_read,
    watches_of_any_path_need_nothing,
    a_sync_needs_nothing,
    no_permission_is_inherited,
    permissions_matter_more_than_versions,
    permissions_matter_less_than_existence,
    a_permission_matters_more_than_a_path,
    a_multi_is_not_allowed_as_a_whole,
    an_acl_must_not_be_empty,
    an_acl_must_not_name_what_there_is_not,
    an_acl_matters_more_than_the_parent,
    an_acl_is_kept_in_its_order,
    a_line_is_kept_once,
    lines_for_the_same_identity_are_added,
    an_acl_may_allow_nothing,
    bits_without_a_meaning_are_kept,
}

const EACH: [i32; 5] =
    [permissions::READ, permissions::WRITE, permissions::CREATE, permissions::DELETE, permissions::ADMIN];

/// Creates a node for each permission that grants it alone to everyone, with a child that grants nothing.
async fn nodes(client: &mut Client, server: &Server) -> Vec<(i32, String)> {
    let mut nodes = Vec::new();
    for permission in EACH {
        let path = server.path(&format!("/{permission}"));
        client.make(&path).await;
        client.make_for(&format!("{path}/child"), vec![world(0)]).await;
        client.set_acl(&path, vec![world(permission)]).await.unwrap();
        nodes.push((permission, path));
    }
    nodes
}

/// Returns the permissions each of which is enough for the request.
async fn allowing(server: &Server, request: impl Fn(String) -> Request) -> Vec<i32> {
    let mut client = server.client().await;
    let mut allowing = Vec::new();
    for (permission, path) in nodes(&mut client, server).await {
        match client.ask(request(path)).await {
            Ok(_) => allowing.push(permission),
            Err(ErrorCode::NO_AUTH) => {}
            Err(other) => panic!("{other}"),
        }
    }
    allowing
}

async fn reads_need_read(server: &Server) {
    let requests: [fn(String) -> Request; 4] = [
        |path| Request::GetData { path, watch: false },
        |path| Request::GetChildren { path, watch: false },
        |path| Request::GetChildren2 { path, watch: false },
        |path| Request::GetAllChildrenNumber { path },
    ];
    let mut client = server.client().await;
    let nodes = nodes(&mut client, server).await;
    for request in requests {
        for (permission, path) in &nodes {
            let allowed = client.ask(request(path.clone())).await;
            match *permission {
                permissions::READ => assert!(allowed.is_ok(), "{allowed:?}"),
                _ => assert_eq!(allowed, Err(ErrorCode::NO_AUTH)),
            }
        }
    }
    assert!(client.stat(&server.path("/1")).await.is_ok());
}

async fn new_data_needs_write(server: &Server) {
    let set = |path| Request::SetData(zklock_testkit::wire::SetData { path, data: None, version: -1 });
    assert_eq!(allowing(server, set).await, [permissions::WRITE]);
}

async fn a_child_is_created_with_create_on_its_parent(server: &Server) {
    let create = |path| Request::Create(Create::new(format!("{path}/new"), "", CreateFlags::PERSISTENT));
    assert_eq!(allowing(server, create).await, [permissions::CREATE]);
}

async fn a_child_is_deleted_with_delete_on_its_parent(server: &Server) {
    let delete = |path| Request::Delete(Delete { path: format!("{path}/child"), version: -1 });
    assert_eq!(allowing(server, delete).await, [permissions::DELETE]);
}

async fn a_new_acl_needs_admin(server: &Server) {
    let set = |path| Request::SetAcl(SetAcl { path, acl: vec![Acl::open()], version: -1 });
    assert_eq!(allowing(server, set).await, [permissions::ADMIN]);
}

async fn an_acl_is_told_to_readers_and_administrators(server: &Server) {
    let get = |path| Request::GetAcl { path };
    assert_eq!(allowing(server, get).await, [permissions::READ, permissions::ADMIN]);
}

async fn a_check_needs_read(server: &Server) {
    let mut client = server.client().await;
    for (permission, path) in nodes(&mut client, server).await {
        let check = Op::Check(CheckVersion { path, version: -1 });
        let expected = match permission {
            permissions::READ => OpResult::Checked,
            _ => OpResult::Failed(ErrorCode::NO_AUTH),
        };
        assert_eq!(client.ask(Request::Multi(vec![check])).await, Ok(Response::Multi(vec![expected])));
    }
}

async fn watches_of_any_path_need_nothing(server: &Server) {
    let mut client = server.client().await;
    client.make_for(&server.path("/a"), vec![world(0)]).await;
    client.add_watch(&server.path("/a"), 0).await;
    client.add_watch(&server.path("/no"), 1).await;
    let refused = client.ask(Request::GetData { path: server.path("/a"), watch: true }).await;
    assert_eq!(refused, Err(ErrorCode::NO_AUTH));
}

async fn a_sync_needs_nothing(server: &Server) {
    let mut client = server.client().await;
    client.make_for(&server.path("/a"), vec![world(0)]).await;
    assert!(client.ask(Request::Sync { path: server.path("/a") }).await.is_ok());
}

async fn no_permission_is_inherited(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.make(&server.path("/a/b")).await;
    client.set_acl(&server.path("/a"), vec![world(permissions::ADMIN)]).await.unwrap();
    assert_eq!(client.data(&server.path("/a")).await, Err(ErrorCode::NO_AUTH));
    assert!(client.data(&server.path("/a/b")).await.is_ok());
    assert!(client.set(&server.path("/a/b"), "x").await.is_ok());
    assert_eq!(client.delete(&server.path("/a/b")).await, Err(ErrorCode::NO_AUTH));
}

async fn permissions_matter_more_than_versions(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    client.make(&server.path("/a/b")).await;
    client.set_acl(&path, vec![world(permissions::READ)]).await.unwrap();
    assert_eq!(client.set_version(&path, "x", 7).await, Err(ErrorCode::NO_AUTH));
    assert_eq!(client.delete_version(&server.path("/a/b"), 7).await, Err(ErrorCode::NO_AUTH));
    let set = SetAcl { path, acl: vec![Acl::open()], version: 7 };
    assert_eq!(client.ask(Request::SetAcl(set)).await, Err(ErrorCode::NO_AUTH));
}

async fn permissions_matter_less_than_existence(server: &Server) {
    let mut client = server.client().await;
    client.make_for(&server.path("/a"), vec![world(0)]).await;
    assert_eq!(client.data(&server.path("/b")).await, Err(ErrorCode::NO_NODE));
    assert_eq!(client.delete(&server.path("/a/b")).await, Err(ErrorCode::NO_AUTH));
    assert_eq!(client.delete(&server.path("/a/b/c")).await, Err(ErrorCode::NO_NODE));
}

async fn a_permission_matters_more_than_a_path(server: &Server) {
    let mut client = server.client().await;
    client.make_for(&server.path("/a"), vec![world(0)]).await;
    for name in ["/a/.", "/a/", "/a/\n"] {
        let create = Create::new(server.path(name), "", CreateFlags::PERSISTENT);
        assert_eq!(client.create(create).await, Err(ErrorCode::NO_AUTH), "{name:?}");
    }
    assert_eq!(client.set(&server.path("/a/"), "").await, Err(ErrorCode::BAD_ARGUMENTS));
}

async fn a_multi_is_not_allowed_as_a_whole(server: &Server) {
    let mut client = server.client().await;
    client.make_for(&server.path("/a"), vec![world(permissions::CREATE)]).await;
    let create = |path| Op::Create(Create::new(path, "", CreateFlags::PERSISTENT));
    let delete = Op::Delete(Delete { path: server.path("/a/b"), version: -1 });
    let answer = client.ask(Request::Multi(vec![create(server.path("/a/b")), delete])).await;
    let results = vec![OpResult::Failed(ErrorCode::OK), OpResult::Failed(ErrorCode::NO_AUTH)];
    assert_eq!(answer, Ok(Response::Multi(results)));
    let answer = client.ask(Request::Multi(vec![create(server.path("/a/b"))])).await;
    assert_eq!(answer, Ok(Response::Multi(vec![OpResult::Created(server.path("/a/b"))])));
}

/// Asserts that every request that carries an ACL refuses this one.
async fn assert_invalid(client: &mut Client, server: &Server, acl: Vec<Acl>) {
    let create = Create { acl: acl.clone(), ..Create::new(server.path("/a"), "", CreateFlags::EPHEMERAL) };
    assert_eq!(client.create(create.clone()).await, Err(ErrorCode::INVALID_ACL), "{acl:?}");
    assert_eq!(client.create2(create.clone()).await, Err(ErrorCode::INVALID_ACL), "{acl:?}");
    let multi = client.ask(Request::Multi(vec![Op::Create(create)])).await;
    let expected = Response::Multi(vec![OpResult::Failed(ErrorCode::INVALID_ACL)]);
    assert_eq!(multi, Ok(expected), "{acl:?}");
    assert_eq!(client.set_acl(&server.path(""), acl.clone()).await, Err(ErrorCode::INVALID_ACL), "{acl:?}");
}

async fn an_acl_must_not_be_empty(server: &Server) {
    let mut client = server.client().await;
    assert_invalid(&mut client, server, vec![]).await;
}

async fn an_acl_must_not_name_what_there_is_not(server: &Server) {
    let mut client = server.client().await;
    let bad = [
        ("world", "somebody"),
        ("", ""),
        ("unknown", "x"),
        ("digest", "user"),
        ("digest", "a:b:c"),
        ("digest", ":"),
        ("ip", "300.0.0.1"),
        ("ip", "1.2.3"),
        ("ip", "localhost"),
        ("ip", "127.0.0.1/33"),
        ("ip", "127.0.0.1/-1"),
        ("ip", "127.0.0.1/x"),
        ("auth", ""),
    ];
    for (scheme, id) in bad {
        let line = Acl::new(permissions::ALL, Id::new(scheme, id));
        assert_invalid(&mut client, server, vec![line.clone()]).await;
        assert_invalid(&mut client, server, vec![Acl::open(), line]).await;
    }
}

async fn an_acl_matters_more_than_the_parent(server: &Server) {
    let mut client = server.client().await;
    let create = Create::new(server.path("/no/a"), "", CreateFlags::PERSISTENT);
    assert_eq!(client.create(Create { acl: vec![], ..create }).await, Err(ErrorCode::INVALID_ACL));
    let answer = client.set_acl(&server.path("/no"), vec![]).await;
    assert_eq!(answer, Err(ErrorCode::INVALID_ACL));
}

async fn an_acl_is_kept_in_its_order(server: &Server) {
    let mut client = server.client().await;
    let acl = vec![
        Acl::new(permissions::READ, Id::new("ip", "10.0.0.0/8")),
        world(permissions::READ | permissions::ADMIN),
        Acl::new(permissions::WRITE, Id::new("digest", "user:hash")),
        Acl::new(permissions::READ, Id::new("ip", "127.0.0.1")),
    ];
    client.make_for(&server.path("/a"), acl.clone()).await;
    assert_eq!(client.acl(&server.path("/a")).await.unwrap().0, acl);
}

async fn a_line_is_kept_once(server: &Server) {
    let mut client = server.client().await;
    let (read, admin) = (world(permissions::READ), world(permissions::ADMIN));
    let acl = vec![read.clone(), admin.clone(), read.clone(), admin.clone(), admin.clone()];
    client.make_for(&server.path("/a"), acl.clone()).await;
    assert_eq!(client.acl(&server.path("/a")).await.unwrap().0, [read.clone(), admin.clone()]);
    client.make(&server.path("/b")).await;
    client.set_acl(&server.path("/b"), acl).await.unwrap();
    assert_eq!(client.acl(&server.path("/b")).await.unwrap().0, [read, admin]);
}

async fn lines_for_the_same_identity_are_added(server: &Server) {
    let mut client = server.client().await;
    client.make_for(&server.path("/a"), vec![world(permissions::READ), world(permissions::WRITE)]).await;
    assert!(client.data(&server.path("/a")).await.is_ok());
    assert!(client.set(&server.path("/a"), "x").await.is_ok());
    assert_eq!(client.set_acl(&server.path("/a"), vec![Acl::open()]).await, Err(ErrorCode::NO_AUTH));
}

async fn an_acl_may_allow_nothing(server: &Server) {
    let mut client = server.client().await;
    client.make_for(&server.path("/a"), vec![world(0)]).await;
    assert_eq!(client.data(&server.path("/a")).await, Err(ErrorCode::NO_AUTH));
    assert_eq!(client.acl(&server.path("/a")).await, Err(ErrorCode::NO_AUTH));
    assert_eq!(client.delete(&server.path("/a")).await, Ok(()));
}

async fn bits_without_a_meaning_are_kept(server: &Server) {
    let mut client = server.client().await;
    for bits in [-1, 0x7fff_ffff, 32 | permissions::READ] {
        let path = server.path(&format!("/{bits}"));
        client.make_for(&path, vec![world(bits)]).await;
        assert_eq!(client.acl(&path).await.unwrap().0, [world(bits)]);
    }
}
