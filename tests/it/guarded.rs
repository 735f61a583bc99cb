//! Guards: reads and writes under them, their ends, and what `Debug` shows of them and of other handles.

use std::fmt::Debug;
use std::future::pending;

use zklock::{LockError, Permission, Refusal};
use zookeeper_client as zk;

use crate::support::{Space, failed, lead};

const PATH: &str = "/jobs/7";

#[tokio::test]
async fn an_upsert_creates_the_node_with_its_parents_or_replaces_its_data() {
    let space = Space::new();
    let guard = space.client().await.mutex(PATH).unwrap().lock().await.unwrap();
    assert_eq!(guard.get("/ledgers/7/last").await.unwrap(), None);
    guard.upsert("/ledgers/7/last", "one").await.unwrap();
    guard.upsert("/ledgers/7/last", "two").await.unwrap();
    guard.upsert("/ledgers/8", "").await.unwrap();
    assert_eq!(guard.get("/ledgers/7/last").await.unwrap().as_deref(), Some(&b"two"[..]));
    assert_eq!(guard.get("/ledgers/7").await.unwrap().as_deref(), Some(&b""[..]));
    let (data, stat) = space.outsider().await.get_data(&space.full("/ledgers/7/last")).await.unwrap();
    assert_eq!((data.as_slice(), stat.version, stat.ephemeral_owner), (&b"two"[..], 1, 0));
}

#[tokio::test]
async fn writes_and_reads_that_are_denied_or_refused_name_the_node() {
    let space = Space::new();
    let guard = space.client().await.mutex(PATH).unwrap().lock().await.unwrap();
    let outsider = space.outsider().await;
    let closed = [zk::Acl::new(zk::Permission::ADMIN, zk::AuthId::anyone())];
    let closed = zk::CreateMode::Persistent.with_acls(zk::Acls::new(&closed));
    let open = zk::Acls::anyone_all();
    outsider.create(&space.full("/closed"), b"", &closed).await.unwrap();
    outsider.create(&space.full("/brief"), b"", &zk::CreateMode::Ephemeral.with_acls(open)).await.unwrap();
    for (error, at, lacks) in [
        (failed(guard.set_data("/closed", "x").await), "/closed", Permission::Write),
        (failed(guard.upsert("/closed", "x").await), "/closed", Permission::Write),
        (failed(guard.upsert("/closed/below/it", "x").await), "/closed/below/it", Permission::Create),
        (failed(guard.get("/closed").await), "/closed", Permission::Read),
    ] {
        let LockError::Denied { path, permission, .. } = &error else { panic!("{at}: {error}") };
        assert_eq!((path.as_str(), *permission), (at, Some(lacks)));
    }
    guard.create("/ledger", "one").await.unwrap();
    for (error, at, refused) in [
        (failed(guard.create("/ledger", "").await), "/ledger", Refusal::NodeExists),
        (failed(guard.delete("/jobs").await), "/jobs", Refusal::NotEmpty),
        (failed(guard.set_data("/missing", "").await), "/missing", Refusal::NoNode),
    ] {
        let LockError::Refused { path, refusal, .. } = &error else { panic!("{at}: {error}") };
        assert_eq!((path.as_str(), refusal), (at, &refused));
    }
    let error = failed(guard.upsert("/brief/below", "x").await);
    assert!(matches!(&error, LockError::Refused { path, .. } if path == "/brief/below"), "{error}");
    for error in [
        failed(guard.upsert("/large", vec![0; 1 << 21]).await),
        failed(guard.set_data(PATH, vec![0; 1 << 21]).await),
    ] {
        assert!(matches!(&error, LockError::Refused { refusal: Refusal::Other(_), .. }), "{error}");
    }
    for error in [
        failed(guard.upsert("large", "").await),
        failed(guard.set_data("large", "").await),
        failed(guard.get("large").await),
    ] {
        assert!(matches!(error, LockError::InvalidPath { .. }), "{error}");
    }
    assert!(guard.is_held(), "refused requests do not touch the lock");
}

#[test]
fn a_guard_dropped_outside_of_any_runtime_releases() {
    let space = Space::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(space.client());
    let guard = runtime.block_on(client.mutex(PATH).unwrap().lock()).unwrap();
    drop(runtime);
    assert!(guard.is_held(), "the session does not need the runtime of its user");
    std::thread::spawn(move || drop(guard)).join().unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(space.until_empty(PATH));
}

#[tokio::test]
async fn a_chroot_and_a_namespace_are_created_when_first_needed() {
    let space = Space::new();
    let connect = format!("{}{}", space.server().connect_string(), space.full("/chroot"));
    let client = zklock::Config::new(connect).namespace("/app").connect().await.unwrap();
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    assert_eq!(guard.path(), "/a");
    assert_eq!(space.children("/chroot/app/a").await.len(), 1);
}

#[track_caller]
fn assert_shows(value: &impl Debug, parts: &[&str]) {
    let shown = format!("{value:?}");
    assert!(parts.iter().all(|part| shown.contains(part)), "{shown} has not all of {parts:?}");
}

#[tokio::test]
async fn handles_show_their_paths_and_whether_they_hold_or_lead() {
    let (space, client) = Space::with_client().await;
    assert_shows(&client, &["Client", "Connected", &space.full("")]);
    let mutex = client.mutex("/orders/7").unwrap();
    let guard = mutex.lock().await.unwrap();
    let token = format!("{:?}", guard.fencing_token());
    assert_shows(&guard, &["Guard", "\"/orders/7\"", &token, "Held"]);
    let held = guard.scope(async { zklock::current().unwrap() }).await;
    assert_shows(&held, &["Held", "\"/orders/7\"", &token, "is_held: true"]);
    guard.release().await.unwrap();
    assert_shows(&held, &["is_held: false"]);

    assert_shows(&client.election("/boss").unwrap(), &["Election", "\"/boss\"", "policy"]);
    let leader = client.leader("/boss").unwrap();
    assert_shows(&leader, &["Leader", "\"/boss\"", "is_leader: false"]);
    let (latch, term) = lead(&client, "/boss").await;
    assert_shows(&latch, &["LeaderLatch", "\"/boss\"", "true"]);
    let token = format!("{:?}", term.fencing_token());
    assert_shows(&term, &["Leadership", "\"/boss\"", &token, "is_leading: true"]);
    let selector = client.leader_selector("/sweeper", |_| pending::<()>()).unwrap();
    assert_shows(&selector, &["LeaderSelector", "\"/sweeper\"", "has_leadership"]);
}
