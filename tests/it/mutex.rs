//! The contract of the mutex.

use zklock::{LockError, LockEventKind, Refusal};

use crate::support::{Space, persistent, soon};

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
async fn the_last_guard_that_is_dropped_after_its_client_is_released_and_not_lost() {
    let space = Space::new();
    for _ in 0..20 {
        let client = space.client().await;
        let mut events = client.events();
        let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
        drop(client);
        drop(guard);
        let mut told = Vec::new();
        while let Some(event) = soon(events.next()).await {
            told.push(event.kind);
        }
        let is_released =
            matches!(told[1..], [LockEventKind::Acquired { .. }, LockEventKind::Released { .. }]);
        assert!(is_released, "{told:?}");
    }
    assert_eq!(space.children(PATH).await, [""; 0]);
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
async fn children_of_other_kinds_neither_block_nor_are_touched() {
    let (space, client) = Space::with_client().await;
    client.mutex(PATH).unwrap().lock().await.unwrap().release().await.unwrap();
    let strangers = ["0", "garbage", "ff00__lock__0000000000", "_c_x-party-0000000000"];
    for stranger in strangers {
        let path = space.full(&format!("{PATH}/{stranger}"));
        space.outsider().await.create(&path, b"", &persistent()).await.unwrap();
    }
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    assert_eq!(client.mutex(PATH).unwrap().participants().await.unwrap().len(), 1);
    guard.release().await.unwrap();
    let mut left = space.children(PATH).await;
    left.sort_unstable();
    let mut expected = strangers;
    expected.sort_unstable();
    assert_eq!(left, expected);
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
