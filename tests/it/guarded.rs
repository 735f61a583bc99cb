//! Upserts and reads through a guard.

use zklock::{LockError, Refusal};
use zookeeper_client as zk;

use crate::support::{Space, failed};

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
async fn upserts_and_reads_that_are_denied_or_refused_name_the_node() {
    let space = Space::new();
    let guard = space.client().await.mutex(PATH).unwrap().lock().await.unwrap();
    let outsider = space.outsider().await;
    let closed = [zk::Acl::new(zk::Permission::ADMIN, zk::AuthId::anyone())];
    let closed = zk::CreateMode::Persistent.with_acls(zk::Acls::new(&closed));
    let open = zk::Acls::anyone_all();
    outsider.create(&space.full("/closed"), b"", &closed).await.unwrap();
    outsider.create(&space.full("/brief"), b"", &zk::CreateMode::Ephemeral.with_acls(open)).await.unwrap();
    for (error, at) in [
        (failed(guard.upsert("/closed", "x").await), "/closed"),
        (failed(guard.upsert("/closed/below/it", "x").await), "/closed/below/it"),
        (failed(guard.get("/closed").await), "/closed"),
    ] {
        assert!(matches!(&error, LockError::Denied { path, .. } if path == at), "{at}: {error}");
    }
    let error = failed(guard.upsert("/brief/below", "x").await);
    assert!(matches!(&error, LockError::Refused { path, .. } if path == "/brief/below"), "{error}");
    let error = failed(guard.upsert("/large", vec![0; 1 << 21]).await);
    let is_too_large = matches!(&error, LockError::Refused { refusal: Refusal::Other(_), .. });
    assert!(is_too_large, "{error}");
    assert!(matches!(failed(guard.upsert("large", "").await), LockError::InvalidPath { .. }));
    assert!(matches!(failed(guard.get("large").await), LockError::InvalidPath { .. }));
    assert!(guard.is_held(), "refused requests do not touch the lock");
}
