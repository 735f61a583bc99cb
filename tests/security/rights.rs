//! The permissions that each call needs, one by one.

use std::time::Duration;

use zklock::{Acl, Client, Config, LockError, Permission};
use zklock_testkit::Proxy;

use crate::secured::{Credentials, Transport, namespace, secured};
use crate::{failed, soon};

/// A lock of an owner, and a client with some permissions.
struct Scene {
    namespace: String,
    owner: Client,
    worker: Client,
}

impl Scene {
    /// Lets the login of a worker do this to the nodes of an owner with a digest.
    async fn new(permissions: &str) -> Self {
        let (secured, namespace) = (secured(), namespace());
        let acl = Acl::entries(["auth::cdrwa".to_owned(), format!("sasl:worker:{permissions}")]);
        let owner = secured.config(Transport::Plain, Credentials::Digest, &namespace).acl(acl.clone());
        let owner = owner.connect().await.unwrap();
        owner.mutex("/a").unwrap().lock().await.unwrap().release().await.unwrap();
        let worker = secured.config(Transport::Plain, Credentials::Login, &namespace).acl(acl);
        let worker = worker.connect().await.unwrap();
        Self { namespace, owner, worker }
    }
}

#[track_caller]
fn lacks(error: &LockError) -> Option<Permission> {
    match error {
        LockError::Denied { permission, .. } => *permission,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_lock_is_taken_with_create_read_and_delete() {
    let scene = Scene::new("crd").await;
    soon(scene.worker.mutex("/a").unwrap().lock()).await.unwrap().release().await.unwrap();
    soon(scene.worker.rwlock("/b").unwrap().read()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn without_create_no_lock_is_entered_and_without_read_none_is_listed() {
    let scene = Scene::new("rd").await;
    let error = failed(soon(scene.worker.mutex("/a").unwrap().lock()).await.map(drop));
    assert_eq!(lacks(&error), Some(Permission::Create));
    // A missing lock is created below the namespace.
    let error = failed(soon(scene.worker.mutex("/missing").unwrap().lock()).await.map(drop));
    assert_eq!(lacks(&error), Some(Permission::Create));
    let scene = Scene::new("cd").await;
    let error = failed(scene.worker.mutex("/a").unwrap().participants().await);
    assert_eq!(lacks(&error), Some(Permission::Read));
}

#[tokio::test]
async fn a_call_that_may_not_list_the_queue_is_denied_and_leaves_nothing() {
    let scene = Scene::new("cd").await;
    let held = scene.owner.mutex("/a").unwrap().lock().await.unwrap();
    let error = failed(soon(scene.worker.mutex("/a").unwrap().lock()).await.map(drop));
    assert_eq!(lacks(&error), Some(Permission::Read));
    let participants = scene.owner.mutex("/a").unwrap().participants().await.unwrap();
    assert_eq!(participants.len(), 1);
    held.release().await.unwrap();
}

#[tokio::test]
async fn to_ask_a_holder_takes_write_and_to_break_its_lock_takes_delete() {
    for (permissions, asks, breaks) in [("r", false, false), ("rw", true, false), ("rd", false, true)] {
        let scene = Scene::new(permissions).await;
        let held = scene.owner.mutex("/a").unwrap().lock().await.unwrap();
        let own = scene.worker.mutex("/a").unwrap().participants().await.unwrap().remove(0);
        match (asks, scene.worker.revoke(&own).await) {
            (true, asked) => asked.unwrap(),
            (false, asked) => assert_eq!(lacks(&failed(asked)), Some(Permission::Write)),
        }
        match (breaks, scene.worker.break_lock(&own).await) {
            (true, broken) => broken.unwrap(),
            (false, broken) => assert_eq!(lacks(&failed(broken)), Some(Permission::Delete)),
        }
        if breaks {
            soon(held.lost()).await;
        }
        assert_eq!(held.release().await.is_ok(), !breaks, "{permissions}");
    }
}

#[tokio::test]
async fn a_permit_needs_the_same_as_a_lock_once_the_number_is_stated() {
    let scene = Scene::new("crd").await;
    scene.owner.semaphore("/room", 3).unwrap().acquire().await.unwrap().release().await.unwrap();
    soon(scene.worker.semaphore("/room", 3).unwrap().acquire()).await.unwrap().release().await.unwrap();
    // Another number has to be written.
    let error = failed(soon(scene.worker.semaphore("/room", 4).unwrap().acquire()).await.map(drop));
    assert_eq!(lacks(&error), Some(Permission::Write));
}

#[tokio::test]
async fn a_guarded_write_needs_the_permission_of_its_kind() {
    let scene = Scene::new("crd").await;
    scene.owner.mutex("/x").unwrap().lock().await.unwrap().upsert("/data/a", b"").await.unwrap();
    let held = soon(scene.worker.mutex("/a").unwrap().lock()).await.unwrap();
    let error = failed(held.set_data("/data/a", b"1").await);
    assert_eq!(lacks(&error), Some(Permission::Write));
    assert!(matches!(&error, LockError::Denied { path, .. } if path == "/data/a"), "{error}");
    held.create("/data/b", b"").await.unwrap();
    held.delete("/data/b").await.unwrap();
    held.release().await.unwrap();
}

#[tokio::test]
async fn an_election_needs_the_same_as_a_lock() {
    let scene = Scene::new("crd").await;
    let latch = scene.worker.leader_latch("/leader").unwrap();
    soon(latch.leadership()).await.unwrap();
    soon(latch.close()).await.unwrap();
    let scene = Scene::new("r").await;
    scene.owner.leader_latch("/leader").unwrap().close().await.unwrap();
    let latch = scene.worker.leader_latch("/leader").unwrap();
    let error = failed(soon(latch.leadership()).await.map(drop));
    assert_eq!(lacks(&error), Some(Permission::Create));
}

#[tokio::test]
async fn a_denied_candidate_does_not_ask_again_and_again() {
    let scene = Scene::new("r").await;
    let proxy = Proxy::start(secured().plain_address()).unwrap();
    let config = Config::new(proxy.connect_string()).namespace(&scene.namespace);
    let client = config.connect().await.unwrap();
    let latch = client.leader_latch("/a").unwrap();
    failed(soon(latch.leadership()).await.map(drop));
    let before = proxy.requests_total();
    // This test is about time: a loop without a pause would send thousands of requests in this time.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let sent = proxy.requests_total() - before;
    assert!(sent < 100, "{sent} requests in a second");
}
