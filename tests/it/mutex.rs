//! The contract of the mutex.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use zklock::{FencingToken, LockError, LockEventKind, MutexGuard, Refusal};
use zookeeper_client as zk;

use crate::support::{Space, assert_waited, failed, soon};

const PATH: &str = "/jobs/nightly";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_exclude_each_other_across_clients_and_their_tokens_rise() {
    let space = Space::new();
    let (inside, tokens) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let mut tasks = JoinSet::new();
    for _ in 0..3 {
        let client = space.client().await;
        for _ in 0..5 {
            let (mutex, inside, tokens) = (client.mutex(PATH).unwrap(), inside.clone(), tokens.clone());
            tasks.spawn(async move {
                let guard = mutex.lock_timeout(Duration::MAX).await.unwrap();
                assert!(!inside.swap(true, Ordering::SeqCst), "two hold at the same time");
                tokio::task::yield_now().await;
                assert!(guard.is_held());
                tokens.lock().unwrap().push(guard.fencing_token());
                inside.store(false, Ordering::SeqCst);
                guard.release().await.unwrap();
            });
        }
    }
    soon(tasks.join_all()).await;
    let tokens: Vec<FencingToken> = tokens.lock().unwrap().clone();
    assert_eq!(tokens.len(), 15);
    assert!(tokens.windows(2).all(|pair| pair[0] < pair[1]), "{tokens:?}");
    assert_eq!(space.children(PATH).await, [""; 0]);
}

#[tokio::test]
async fn those_who_wait_are_served_in_the_order_of_the_queue() {
    let space = Space::new();
    let (first, second) = (space.client().await, space.client().await);
    let guard = first.mutex(PATH).unwrap().lock().await.unwrap();
    let mut waiters = Vec::new();
    let (third, fourth) = (space.client().await, space.client().await);
    for (place, client) in [&second, &third, &fourth].into_iter().enumerate() {
        let mutex = client.mutex(PATH).unwrap();
        waiters.push(tokio::spawn(async move { mutex.lock().await }));
        space.until_queued(PATH, place + 2).await;
    }
    let mut last = guard.fencing_token();
    guard.release().await.unwrap();
    for waiter in waiters {
        let guard = soon(waiter).await.unwrap().unwrap();
        assert!(guard.fencing_token() > last);
        last = guard.fencing_token();
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn a_try_takes_a_free_lock_and_leaves_a_taken_one_without_a_trace() {
    let space = Space::new();
    let (first, second) = (space.client().await, space.client().await);
    let guard = first.mutex(PATH).unwrap().try_lock().await.unwrap().expect("the lock is free");
    let contended = second.mutex(PATH).unwrap().try_lock().await.unwrap();
    assert!(contended.is_none());
    assert_eq!(space.children(PATH).await.len(), 1);
    guard.release().await.unwrap();
    assert!(second.mutex(PATH).unwrap().try_lock().await.unwrap().is_some());
}

#[tokio::test]
async fn a_timed_acquisition_gives_up_names_the_path_and_leaves_nothing() {
    let space = Space::new();
    let client = space.client().await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let other = space.client().await.mutex(PATH).unwrap();
    let error = failed(other.lock_timeout(Duration::from_millis(500)).await);
    assert!(error.is_timeout() && error.is_contended(), "{error}");
    assert_waited(&error, "500ms", PATH);
    space.until_queued(PATH, 1).await;
    assert!(guard.is_held());
}

#[tokio::test]
async fn a_dropped_guard_releases_in_the_background() {
    let space = Space::new();
    let client = space.client().await;
    drop(client.mutex(PATH).unwrap().lock().await.unwrap());
    space.until_empty(PATH).await;
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
async fn a_guard_keeps_its_lock_after_the_client_was_dropped() {
    let space = Space::new();
    let guard = space.client().await.mutex(PATH).unwrap().lock().await.unwrap();
    guard.verify().await.unwrap();
    assert_eq!(space.children(PATH).await.len(), 1);
    guard.release().await.unwrap();
    assert_eq!(space.children(PATH).await, [""; 0]);
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
    #[expect(dead_code, reason = "only its type matters")]
    fn futures(mutex: &zklock::Mutex, guard: MutexGuard) {
        is_send_value(mutex.lock());
        is_send_value(mutex.try_lock());
        is_send_value(mutex.run(async |_| 1));
        is_send_value(guard.release());
    }
}

#[tokio::test]
async fn participants_are_listed_in_the_order_of_the_queue() {
    let space = Space::new();
    let holder = space.config().identity("holder").connect().await.unwrap();
    let waiter = space.config().identity("waiter").connect().await.unwrap();
    let mutex = holder.mutex(PATH).unwrap();
    assert_eq!(mutex.participants().await.unwrap(), []);
    let guard = mutex.lock().await.unwrap();
    let waiting = waiter.mutex(PATH).unwrap();
    let waiting = tokio::spawn(async move { waiting.lock().await });
    space.until_queued(PATH, 2).await;
    let participants = mutex.participants().await.unwrap();
    let seen: Vec<_> = participants.iter().map(|p| (p.identity.as_str(), Some(p.session_id))).collect();
    assert_eq!(seen, [("holder", holder.session_id()), ("waiter", waiter.session_id())]);
    assert_eq!(participants[0].fencing_token, guard.fencing_token());
    assert!(participants[0].fencing_token < participants[1].fencing_token);
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
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
