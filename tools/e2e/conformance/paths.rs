//! The valid forms of a path, which are not the same for all requests.

use zklock_testkit::wire::{
    Acl, CheckVersion, Create, CreateFlags, ErrorCode, Op, OpResult, Request, Response, SetAcl,
};

use crate::case::cases;
use crate::server::Server;

cases! {
    names_must_not_have_control_characters,
    names_must_not_be_dots,
    names_may_have_any_other_character,
    a_created_path_must_be_absolute,
    the_parent_is_looked_up_before_the_path_is_checked,
    a_deleted_path_is_hardly_checked,
    nodes_of_the_server_are_not_deleted,
    new_data_needs_a_good_path,
    a_new_acl_needs_a_good_path,
    a_check_needs_a_good_path,
    reads_know_no_bad_paths,
    nul_is_bad_to_exists_only,
    the_empty_path_is_the_root_for_reads,
}

/// Characters that a name must not have, as far as UTF-8 can carry them.
const BAD_CHARACTERS: [char; 11] =
    ['\0', '\u{1}', '\n', '\u{1f}', '\u{7f}', '\u{9f}', '\u{e000}', '\u{f8ff}', '\u{fff0}', '\u{ffff}', '😀'];

fn bad_names() -> impl Iterator<Item = String> {
    BAD_CHARACTERS.into_iter().flat_map(|bad| [format!("/{bad}"), format!("/a{bad}"), format!("/a{bad}b")])
}

async fn names_must_not_have_control_characters(server: &Server) {
    let mut client = server.client().await;
    for name in bad_names() {
        for flags in [CreateFlags::PERSISTENT, CreateFlags::EPHEMERAL_SEQUENTIAL] {
            let create = Create::new(server.path(&name), "", flags);
            assert_eq!(client.create(create).await, Err(ErrorCode::BAD_ARGUMENTS), "{name:?}");
        }
    }
}

async fn names_must_not_be_dots(server: &Server) {
    let mut client = server.client().await;
    for name in ["/.", "/.."] {
        let create = Create::new(server.path(name), "", CreateFlags::PERSISTENT);
        assert_eq!(client.create(create).await, Err(ErrorCode::BAD_ARGUMENTS), "{name:?}");
    }
}

async fn names_may_have_any_other_character(server: &Server) {
    let mut client = server.client().await;
    let names =
        ["/...", "/.a", "/a.", "/a..b", "/..a", "/ ", "/\u{a0}", "/~", "/ä", "/\u{d7ff}", "/\u{f900}"];
    for name in names {
        assert_eq!(client.make_as(&server.path(name), CreateFlags::PERSISTENT).await, server.path(name));
    }
    assert_eq!(client.children(&server.path("")).await.unwrap().len(), names.len());
}

async fn a_created_path_must_be_absolute(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    for path in [String::new(), "a".into(), ".".into(), server.path("/a/")] {
        let create = Create::new(&path, "", CreateFlags::PERSISTENT);
        assert_eq!(client.create(create).await, Err(ErrorCode::BAD_ARGUMENTS), "{path:?}");
    }
    let create = Create::new("a", "", CreateFlags::PERSISTENT_SEQUENTIAL);
    assert_eq!(client.create(create).await, Err(ErrorCode::BAD_ARGUMENTS));
}

async fn the_parent_is_looked_up_before_the_path_is_checked(server: &Server) {
    let mut client = server.client().await;
    let paths = ["a/b".into(), server.path("/a/"), server.path("//a"), server.path("/./a"), "///".into()];
    for path in paths {
        let create = Create::new(&path, "", CreateFlags::PERSISTENT);
        assert_eq!(client.create(create).await, Err(ErrorCode::NO_NODE), "{path:?}");
    }
}

async fn a_deleted_path_is_hardly_checked(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    for path in [String::new(), "a".into(), server.path("/a\0"), "\0".into()] {
        assert_eq!(client.delete(&path).await, Err(ErrorCode::BAD_ARGUMENTS), "{path:?}");
    }
    for path in [server.path("/a/"), server.path("//a"), server.path("/."), server.path("/\n"), "a/b".into()]
    {
        assert_eq!(client.delete(&path).await, Err(ErrorCode::NO_NODE), "{path:?}");
    }
}

async fn nodes_of_the_server_are_not_deleted(server: &Server) {
    let mut client = server.client().await;
    for path in ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"] {
        assert_eq!(client.delete(path).await, Err(ErrorCode::BAD_ARGUMENTS), "{path}");
    }
    assert_eq!(client.children("/zookeeper").await, Ok(vec!["config".into(), "quota".into()]));
}

/// Returns paths that are bad for every request that checks its path.
fn bad_paths(server: &Server) -> Vec<String> {
    let mut paths: Vec<String> = ["", "a", "a/b", "//"].map(String::from).into();
    paths.extend(["/", "//a", "/.", "/..", "/./a", "/a/../b"].map(|path| server.path(path)));
    paths.extend(bad_names().map(|name| server.path(&name)));
    paths
}

async fn new_data_needs_a_good_path(server: &Server) {
    let mut client = server.client().await;
    for path in bad_paths(server) {
        assert_eq!(client.set(&path, "x").await, Err(ErrorCode::BAD_ARGUMENTS), "{path:?}");
    }
    assert_eq!(client.set(&server.path("/..."), "x").await, Err(ErrorCode::NO_NODE));
}

async fn a_new_acl_needs_a_good_path(server: &Server) {
    let mut client = server.client().await;
    for path in bad_paths(server) {
        let set = |acl| Request::SetAcl(SetAcl { path: path.clone(), acl, version: -1 });
        assert_eq!(client.ask(set(vec![Acl::open()])).await, Err(ErrorCode::BAD_ARGUMENTS), "{path:?}");
        assert_eq!(client.ask(set(vec![])).await, Err(ErrorCode::BAD_ARGUMENTS), "{path:?}");
    }
}

async fn a_check_needs_a_good_path(server: &Server) {
    let mut client = server.client().await;
    for path in bad_paths(server) {
        let check = Op::Check(CheckVersion { path, version: -1 });
        let expected = Response::Multi(vec![OpResult::Failed(ErrorCode::BAD_ARGUMENTS)]);
        assert_eq!(client.ask(Request::Multi(vec![check])).await, Ok(expected));
    }
}

async fn reads_know_no_bad_paths(server: &Server) {
    let mut client = server.client().await;
    for path in bad_paths(server).into_iter().filter(|path| !path.is_empty()) {
        assert_eq!(client.data(&path).await, Err(ErrorCode::NO_NODE), "{path:?}");
        assert_eq!(client.children(&path).await, Err(ErrorCode::NO_NODE), "{path:?}");
        assert_eq!(client.children2(&path).await, Err(ErrorCode::NO_NODE), "{path:?}");
        assert_eq!(client.acl(&path).await, Err(ErrorCode::NO_NODE), "{path:?}");
        if !path.contains('\0') {
            assert_eq!(client.stat(&path).await, Err(ErrorCode::NO_NODE), "{path:?}");
        }
    }
}

async fn nul_is_bad_to_exists_only(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a\0");
    assert_eq!(client.stat(&path).await, Err(ErrorCode::BAD_ARGUMENTS));
    assert_eq!(client.data(&path).await, Err(ErrorCode::NO_NODE));
}

async fn the_empty_path_is_the_root_for_reads(server: &Server) {
    let mut client = server.client().await;
    let data = client.data("").await.unwrap().0;
    assert_eq!(data.as_deref(), Some(&b""[..]));
    assert!(client.children("").await.unwrap().contains(&"zookeeper".to_owned()));
    assert_eq!(client.stat("").await.unwrap().czxid, 0);
    assert_eq!(client.acl("").await.unwrap().0, [Acl::open()]);
}
