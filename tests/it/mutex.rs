//! The contract of the mutex.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zklock::{LockError, LockEventKind, MutexGuard, ReadGuard, Refusal, RwLock, WriteGuard};
use zookeeper_client as zk;

use crate::support::{Space, soon};

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

#[test]
fn guards_clients_and_futures_can_move_between_threads() {
    fn is_send<T: Send + 'static>() {}
    fn is_sync<T: Sync>() {}
    fn is_send_value<T: Send>(_: T) {}
    is_send::<MutexGuard>();
    is_sync::<MutexGuard>();
    is_send::<zklock::Client>();
    is_sync::<zklock::Client>();
    is_send::<LockError>();
    is_sync::<LockError>();
    is_send::<RwLock>();
    is_sync::<RwLock>();
    is_send::<ReadGuard>();
    is_sync::<ReadGuard>();
    is_send::<WriteGuard>();
    is_sync::<WriteGuard>();
    #[expect(dead_code, reason = "only its type matters")]
    fn futures(mutex: &zklock::Mutex, guard: MutexGuard, rwlock: &RwLock, writer: WriteGuard) {
        is_send_value(rwlock.read());
        is_send_value(rwlock.try_write());
        is_send_value(rwlock.run_read(async |_| 1));
        is_send_value(writer.downgrade());
        is_send_value(mutex.lock());
        is_send_value(mutex.try_lock());
        is_send_value(mutex.run(async |_| 1));
        is_send_value(guard.release());
    }
}

#[tokio::test]
async fn a_guarded_write_is_applied_while_the_lock_is_held() {
    let space = Space::new();
    let client = space.client().await;
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
    let space = Space::new();
    let client = space.client().await;
    client.mutex(PATH).unwrap().lock().await.unwrap().release().await.unwrap();
    let options = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
    let strangers = ["0", "garbage", "ff00__lock__0000000000", "_c_x-party-0000000000"];
    for stranger in strangers {
        let path = space.full(&format!("{PATH}/{stranger}"));
        space.outsider().await.create(&path, b"", &options).await.unwrap();
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
async fn a_contender_of_another_client_library_is_waited_for() {
    let space = Space::new();
    let client = space.client().await;
    client.mutex(PATH).unwrap().lock().await.unwrap().release().await.unwrap();
    let other = space.outsider().await;
    let options = zk::CreateMode::EphemeralSequential.with_acls(zk::Acls::anyone_all());
    let name = "_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lock-";
    other.create(&space.full(&format!("{PATH}/{name}")), b"10.0.0.1", &options).await.unwrap();
    let mutex = client.mutex(PATH).unwrap();
    assert!(mutex.try_lock().await.unwrap().is_none());
    let waiting = tokio::spawn(async move { mutex.lock().await });
    space.until_queued(PATH, 2).await;
    drop(other);
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_contender_that_outlives_its_session_is_waited_for_until_it_is_deleted() {
    let space = Space::new();
    let mutex = space.client().await.mutex(PATH).unwrap();
    mutex.lock().await.unwrap().release().await.unwrap();
    let options = zk::CreateMode::PersistentSequential.with_acls(zk::Acls::anyone_all());
    let path = space.full(&format!("{PATH}/_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lock-"));
    space.outsider().await.create(&path, b"", &options).await.unwrap();
    let waiting = tokio::spawn(async move { mutex.lock().await });
    space.until_queued(PATH, 2).await;
    assert!(!waiting.is_finished());
    let children = space.children(PATH).await;
    let durable = children.iter().find(|child| child.starts_with("_c_6ba7b810")).unwrap();
    space.outsider().await.delete(&space.full(&format!("{PATH}/{durable}")), None).await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parents_that_vanish_are_created_again() {
    let space = Space::new();
    let client = space.client().await;
    let (parent, namespace) = (space.full(PATH), space.full("/jobs"));
    let removed = Arc::new(AtomicUsize::new(0));
    let count = removed.clone();
    let remover = tokio::spawn(async move {
        let outsider = space.outsider().await;
        loop {
            let is_removed = outsider.delete(&parent, None).await.is_ok();
            count.fetch_add(usize::from(is_removed), Ordering::Relaxed);
            let _ = outsider.delete(&namespace, None).await;
            // The deletes of a closed connection fail without an await.
            tokio::task::yield_now().await;
        }
    });
    let mutex = client.mutex(PATH).unwrap();
    let (mut last, mut rounds) = (None, 0);
    while removed.load(Ordering::Relaxed) < 20 {
        rounds += 1;
        assert!(rounds < 10_000, "the parent is not removed");
        let guard = mutex.lock().await.unwrap();
        assert!(Some(guard.fencing_token()) > last, "tokens rise although sequences start again");
        last = Some(guard.fencing_token());
        guard.release().await.unwrap();
    }
    remover.abort();
    assert!(soon(remover).await.unwrap_err().is_cancelled());
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
