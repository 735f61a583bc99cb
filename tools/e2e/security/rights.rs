//! The permissions that each call needs, one by one.

use zklock::{Acl, Client, LockError, Permission};
use zookeeper_client as zk;

use crate::matrix::{List, assert_kept_out};
use crate::secured::{Credentials, Transport, namespace, secured};
use crate::{assert_denied, failed, soon};

/// A lock of an owner, and a client with some permissions.
struct Scene {
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
        Self { owner, worker }
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
async fn create_read_and_delete_are_enough_to_hold_and_lead_and_for_a_number_of_permits_that_is_stated() {
    let scene = Scene::new("crd").await;
    let held = soon(scene.worker.mutex("/a").unwrap().lock()).await.unwrap();
    held.create("/data", b"").await.unwrap();
    held.delete("/data").await.unwrap();
    held.release().await.unwrap();
    scene.owner.semaphore("/room", 3).unwrap().acquire().await.unwrap().release().await.unwrap();
    soon(scene.worker.semaphore("/room", 3).unwrap().acquire()).await.unwrap().release().await.unwrap();
    soon(scene.worker.rwlock("/b").unwrap().read()).await.unwrap().release().await.unwrap();
    let latch = scene.worker.leader_latch("/leader").unwrap();
    soon(latch.leadership()).await.unwrap();
    soon(latch.close()).await.unwrap();
}

#[tokio::test]
async fn others_may_have_locks_below_the_parents_of_a_team_and_not_touch_its_own() {
    let parents = Acl::entries(["auth::cdrwa", "world:anyone:cr"]);
    let (secured, namespace) = (secured(), namespace());
    let team = secured.config(Transport::Plain, Credentials::Digest, &namespace).acl(Acl::CreatorAll);
    let team = team.parent_acl(parents).connect().await.unwrap();
    let other = secured.stranger(&namespace).await;
    assert_kept_out(&team, &other, List::CreatorAll).await;
    let held = soon(team.mutex("/orders/7").unwrap().lock()).await.unwrap();
    held.upsert("/ledger/7", b"").await.unwrap();
    team.semaphore("/rooms/a", 2).unwrap().acquire().await.unwrap().release().await.unwrap();
    let permit = soon(other.semaphore("/rooms/a", 2).unwrap().acquire()).await.map(drop);
    // The gate comes first.
    assert_denied(permit, "/rooms/a/locks", Permission::Create);
    let latch = other.leader_latch("/orders/7").unwrap();
    assert_denied(soon(latch.leadership()).await.map(drop), "/orders/7", Permission::Create);

    // Beside them, others have locks and data of their own.
    let beside = soon(other.mutex("/orders/8").unwrap().lock()).await.unwrap();
    beside.upsert("/ledger/8", b"").await.unwrap();
    assert_denied(beside.upsert("/ledger/7", b"").await, "/ledger/7", Permission::Write);
    beside.release().await.unwrap();

    let outsider = zk::Client::connect(&secured.plain_address().to_string()).await.unwrap();
    for parent in ["", "/orders", "/ledger", "/rooms"] {
        let parent = format!("{namespace}{parent}");
        let open = [zk::Acl::new(zk::Permission::ALL, zk::AuthId::anyone())];
        assert_eq!(outsider.set_data(&parent, b"", None).await.err(), Some(zk::Error::NoAuth));
        assert_eq!(outsider.set_acl(&parent, &open, None).await.err(), Some(zk::Error::NoAuth));
    }
    // Without its children, the node could be deleted.
    team.mutex("/empty/a").unwrap().lock().await.unwrap().release().await.unwrap();
    for node in ["/empty/a", "/empty"] {
        let deleted = outsider.delete(&format!("{namespace}{node}"), None).await;
        assert_eq!(deleted, Err(zk::Error::NoAuth), "{node}");
    }
    held.verify().await.unwrap();
    held.release().await.unwrap();
}

#[tokio::test]
async fn a_holder_is_asked_with_write_and_its_lock_is_broken_with_delete() {
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
