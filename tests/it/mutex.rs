//! The contract of the mutex.

use zklock::{LockError, Refusal};

use crate::support::Space;

const PATH: &str = "/jobs/nightly";

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
async fn a_guarded_write_is_applied_while_the_lock_is_held() {
    let (space, client) = Space::with_client().await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    guard.create("/ledger", "one").await.unwrap();
    guard.set_data("/ledger", "two").await.unwrap();
    let read = space.outsider().await.get_data(&space.full("/ledger")).await.unwrap().0;
    assert_eq!(read, b"two");
    assert_eq!(refusal(guard.create("/ledger", "").await), ("/ledger".into(), Refusal::NodeExists));
    assert_eq!(refusal(guard.delete("/jobs").await), ("/jobs".into(), Refusal::NotEmpty));
    guard.delete("/ledger").await.unwrap();
    assert_eq!(refusal(guard.set_data("/ledger", "").await), ("/ledger".into(), Refusal::NoNode));
    assert!(matches!(guard.set_data("ledger", "").await, Err(LockError::InvalidPath { .. })));
    let too_much = guard.set_data(PATH, vec![0; 1 << 21]).await;
    assert!(matches!(too_much, Err(LockError::Refused { .. })));
    assert!(guard.is_held(), "refused writes do not touch the lock");
}

#[track_caller]
fn refusal(result: Result<(), LockError>) -> (String, Refusal) {
    match result {
        Err(LockError::Refused { path, refusal, .. }) => (path, refusal),
        other => panic!("not refused: {other:?}"),
    }
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
