//! Upserts and reads through a guard.

use zklock::{LockError, Member, Refusal};
use zookeeper_client as zk;

use crate::support::{Space, failed, soon};

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
async fn every_kind_of_guard_and_a_leader_upsert_and_read() {
    let client = Space::new().client().await;
    let mutex = client.mutex("/mutex").unwrap().lock().await.unwrap();
    let reader = client.rwlock("/read").unwrap().read().await.unwrap();
    let writer = client.rwlock("/write").unwrap().write().await.unwrap();
    let permit = client.semaphore("/permits", 2).unwrap().acquire().await.unwrap();
    let multi = client.multi([Member::mutex("/a"), Member::write("/b")]).unwrap().lock().await.unwrap();
    let leader = client.leader("/leader").unwrap();
    let term = soon(leader.leadership()).await.unwrap();
    mutex.upsert("/data/mutex", "1").await.unwrap();
    reader.upsert("/data/read", "2").await.unwrap();
    writer.upsert("/data/write", "3").await.unwrap();
    permit.upsert("/data/permits", "4").await.unwrap();
    multi.upsert("/data/multi", "5").await.unwrap();
    term.upsert("/data/term", "6").await.unwrap();
    assert_eq!(mutex.get("/data/term").await.unwrap(), Some(b"6".to_vec()));
    assert_eq!(reader.get("/data/mutex").await.unwrap(), Some(b"1".to_vec()));
    assert_eq!(writer.get("/data/read").await.unwrap(), Some(b"2".to_vec()));
    assert_eq!(permit.get("/data/write").await.unwrap(), Some(b"3".to_vec()));
    assert_eq!(multi.get("/data/permits").await.unwrap(), Some(b"4".to_vec()));
    assert_eq!(term.get("/data/multi").await.unwrap(), Some(b"5".to_vec()));
}

#[tokio::test]
async fn nothing_is_upserted_or_read_under_a_lock_that_is_lost() {
    let (space, client) = Space::with_client().await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let multi = client.multi(["/a", "/b"]).unwrap().lock().await.unwrap();
    guard.upsert("/ledger", "mine").await.unwrap();
    // The holders do not know it, unless the news has come by then.
    space.delete_children(PATH).await;
    space.delete_children("/b").await;
    assert!(failed(guard.upsert("/ledger", "late").await).is_lost());
    assert!(failed(guard.upsert("/new/ledger", "late").await).is_lost());
    assert!(failed(guard.get("/ledger").await).is_lost());
    let error = failed(multi.upsert("/ledger", "late").await);
    assert!(matches!(&error, LockError::Lost { path, .. } if path == "/b"), "{error}");
    assert!(failed(multi.get("/ledger").await).is_lost());
    let outsider = space.outsider().await;
    assert_eq!(outsider.get_data(&space.full("/ledger")).await.unwrap().0, b"mine");
    assert!(outsider.check_stat(&space.full("/new")).await.unwrap().is_none());
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
