//! Bad input is an error that names the path and the cause, and leaves nothing on the server.

use std::time::Duration;

use zklock::{Acl, Config, LockError, Member, Permission, Permits, Refusal};
use zklock_testkit::EmbeddedServer;
use zookeeper_client as zk;

use crate::support::{Space, failed, server, soon, until_before_expiry};

const PATH: &str = "/a";

#[tokio::test]
async fn settings_that_cannot_work_are_named_before_anything_is_sent() {
    let config = || Config::new(server().connect_string());
    let cases = [
        (Config::new(""), "connect"),
        (Config::new("host:port"), "connect"),
        (Config::new("localhost:2181/a//b"), "connect"),
        (config().namespace("relative"), "namespace"),
        (config().namespace("/app "), "namespace"),
        (config().session_timeout(Duration::ZERO), "session_timeout"),
        (config().session_timeout(Duration::MAX), "session_timeout"),
        (config().default_wait(Duration::ZERO), "default_wait"),
        (config().connect_timeout(Duration::ZERO), "connect_timeout"),
        (config().tick_time(Duration::ZERO), "tick_time"),
        (config().tick_time(Duration::MAX), "tick_time"),
        (config().sync_limit(Duration::ZERO), "sync_limit"),
        (config().sync_limit(Duration::MAX), "sync_limit"),
        (config().server_timeout(Duration::ZERO), "server_timeout"),
        (config().server_timeout(Duration::from_secs(13)), "server_timeout"),
        (config().acl(Acl::CreatorAll), "acl"),
        (config().identity("x".repeat(2_000)), "identity"),
        (config().identity("__REVOKE__"), "identity"),
        // The server grants one second, which the margin for a tick of two seconds uses up.
        (
            config().session_timeout(Duration::from_secs(1)).tick_time(Duration::from_secs(2)),
            "session_timeout",
        ),
    ];
    for (config, named) in cases {
        let shown = format!("{config:?}");
        match soon(config.connect()).await {
            Err(LockError::InvalidConfig { setting, .. }) => assert_eq!(setting, named, "{shown}"),
            other => panic!("{shown} was not refused: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_denied_create_list_or_delete_is_told_and_not_retried() {
    use zk::Permission as P;
    let cases = [
        (P::READ, 0, Permission::Create),
        (P::CREATE | P::DELETE, 0, Permission::Read),
        (P::READ | P::CREATE, 1, Permission::Delete),
    ];
    for (granted, left, lacks) in cases {
        let space = Space::new();
        let outsider = space.restrict(PATH, granted).await;
        let contenders = async || outsider.list_children(&space.full(PATH)).await.unwrap().len();
        let client = space.client().await;
        let mutex = client.mutex(PATH).unwrap();
        let outcome = soon(mutex.lock()).await;
        let error = match outcome {
            Ok(guard) => failed(soon(guard.release()).await),
            Err(error) => error,
        };
        let LockError::Denied { path, permission, .. } = &error else { panic!("{granted}: {error}") };
        assert_eq!((path.as_str(), *permission), (PATH, Some(lacks)), "{granted}");
        // A node that may not be deleted ends with its session.
        assert_eq!(contenders().await, left, "{granted}");
        client.shutdown(Duration::ZERO).await;
        until_before_expiry(async || contenders().await == 0, "the node is gone").await;
    }
}

#[tokio::test]
async fn a_lock_below_an_ephemeral_node_is_refused() {
    let space = Space::new();
    let outsider = space.outsider().await;
    let acls = zk::Acls::anyone_all();
    outsider.create(&space.namespace, b"", &zk::CreateMode::Persistent.with_acls(acls)).await.unwrap();
    outsider.create(&space.full(PATH), b"", &zk::CreateMode::Ephemeral.with_acls(acls)).await.unwrap();
    let error = failed(soon(space.client().await.mutex(PATH).unwrap().lock()).await);
    assert!(matches!(&error, LockError::Refused { path, .. } if path == PATH), "{error}");
    assert_eq!(space.children(PATH).await, [""; 0]);
}

#[tokio::test]
async fn a_lock_below_another_locks_path_does_not_disturb_it() {
    let client = Space::new().client().await;
    let outer = client.mutex("/a").unwrap().lock().await.unwrap();
    let inner = client.mutex("/a/b").unwrap().lock().await.unwrap();
    assert!(client.mutex("/a").unwrap().try_lock().await.unwrap().is_none());
    inner.release().await.unwrap();
    outer.release().await.unwrap();
    client.mutex("/a").unwrap().lock().await.unwrap().release().await.unwrap();
}

#[track_caller]
fn refused_permits<T: std::fmt::Debug>(outcome: Result<T, LockError>, expected: u32) -> String {
    match failed(outcome) {
        LockError::InvalidPermits { path, wanted, reason, .. } => {
            assert_eq!((path.as_str(), wanted), (PATH, expected));
            reason
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn numbers_of_permits_that_cannot_be_had_are_refused_before_anything_is_sent() {
    const TOO_MANY: &str = "a shared number must fit in a signed 32-bit integer";
    let (space, client) = Space::with_client().await;
    let reason = refused_permits(client.semaphore(PATH, 0), 0);
    assert_eq!(reason, "a semaphore needs at least one permit");
    let semaphore = client.semaphore(PATH, 3).unwrap();
    for wanted in [4, u32::MAX] {
        assert_eq!(refused_permits(semaphore.acquire_many(wanted).await, wanted), "the semaphore has 3");
        assert_eq!(refused_permits(semaphore.try_acquire_many(wanted).await, wanted), "the semaphore has 3");
    }
    assert_eq!(refused_permits(semaphore.acquire_many(0).await, 0), "request at least one");
    assert_eq!(refused_permits(semaphore.try_acquire_many(0).await, 0), "request at least one");
    let reason = refused_permits(semaphore.set_permits(5).await, 5);
    assert_eq!(reason, "the number of this semaphore is not shared");
    let error = failed(semaphore.acquire_timeout(Duration::ZERO).await);
    assert!(matches!(&error, LockError::InvalidWait { path, .. } if path == PATH), "{error}");

    let (greatest, beyond) = (i32::MAX as u32, i32::MAX as u32 + 1);
    assert_eq!(refused_permits(client.semaphore(PATH, Permits::shared("/n", beyond)), beyond), TOO_MANY);
    let shared = client.semaphore(PATH, Permits::shared("/n", greatest)).unwrap();
    assert_eq!(refused_permits(shared.set_permits(beyond).await, beyond), TOO_MANY);
    assert_eq!(refused_permits(shared.acquire_many(0).await, 0), "request at least one");
    for counter in ["", "n", "/", "/n/"] {
        let error = failed(client.semaphore(PATH, Permits::shared(counter, 3)));
        assert!(matches!(&error, LockError::InvalidPath { path, .. } if path == counter), "{error}");
    }
    assert_eq!(space.children("").await, [""; 0]);
    shared.acquire_many(2).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn groups_that_cannot_be_locked_together_are_refused_before_anything_is_sent() {
    let (space, client) = Space::with_client().await;
    let group = |members: Vec<Member>| match failed(client.multi(members)) {
        LockError::InvalidGroup { reason, .. } => reason,
        other => panic!("{other}"),
    };
    assert_eq!(group(vec![]), "the list of members is empty");
    assert_eq!(group(vec!["/b".into(), "/a".into(), "/b".into()]), "/b is named twice");
    // The same path with two kinds is refused too.
    assert_eq!(group(vec![Member::read("/a"), Member::write("/a")]), "/a is named twice");
    assert_eq!(group(vec![Member::mutex("/a"), Member::exclusive("/a")]), "/a is named twice");
    let error = failed(client.lock_all([PATH, PATH]).await);
    assert_eq!(error.to_string(), "cannot lock these paths together: /a is named twice");
    assert!(error.is_invalid());
    let error = failed(client.multi([PATH, "b"]));
    assert!(matches!(&error, LockError::InvalidPath { path, .. } if path == "b"), "{error}");
    let error = failed(client.multi(["/b", PATH]).unwrap().lock_timeout(Duration::ZERO).await);
    assert!(matches!(&error, LockError::InvalidWait { path, .. } if path == PATH), "{error}");
    for path in ["", "a", "/", "/a//b"] {
        assert!(matches!(failed(client.exclusive(path)), LockError::InvalidPath { .. }), "{path}");
        assert!(matches!(failed(client.semaphore(path, 1)), LockError::InvalidPath { .. }), "{path}");
    }
    assert_eq!(space.children("").await, [""; 0]);
    client.lock_all([PATH]).await.unwrap().release().await.unwrap();
}

/// Runs on the embedded server, whose counter can be set. The conformance suite shows that a real server
/// numbers its nodes in the same way.
#[tokio::test]
async fn a_lock_whose_numbers_are_used_up_says_so_and_leaves_nothing() {
    let server = EmbeddedServer::start().unwrap();
    let client = Config::new(server.connect_string()).connect().await.unwrap();
    let mutex = client.mutex("/used/up").unwrap();
    mutex.lock().await.unwrap().release().await.unwrap();
    server.set_counter("/used/up", i32::MAX - 1).unwrap();
    let last = mutex.lock().await.unwrap();
    let other = Config::new(server.connect_string()).connect().await.unwrap();
    let other = other.mutex("/used/up").unwrap();
    for _ in 0..2 {
        let error = failed(other.lock().await);
        let LockError::Refused { path, refusal: Refusal::OutOfNumbers, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(path, "/used/up");
    }
    last.verify().await.unwrap();
    last.release().await.unwrap();
    assert!(failed(mutex.try_lock().await).to_string().contains("used up"));
    let left: Vec<_> = server.paths().into_iter().filter(|path| path.starts_with("/used/up/")).collect();
    assert!(left.is_empty(), "{left:?}");
}
