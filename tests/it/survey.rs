//! The locks below a path, as an operator sees them.

use std::time::Duration;

use zklock::{Client, LockError, LockKind, Mode, Standing, SurveyedLock};
use zklock_testkit::wire::Opcode;
use zookeeper_client as zk;

use crate::support::{Space, persistent, sequential, soon, until};

fn summary(locks: &[SurveyedLock]) -> Vec<(&str, LockKind, u32, u32)> {
    locks.iter().map(|lock| (&lock.path[..], lock.kind, lock.holding, lock.waiting)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_locks_below_a_path_have_their_kinds_holders_and_waiters() {
    let (space, [client, other, observer]) = Space::with_clients().await;
    let mutex = client.mutex("/shop/orders/7").unwrap().lock().await.unwrap();
    let reader = client.rwlock("/shop/stock").unwrap().read().await.unwrap();
    let permits = client.semaphore("/shop/permits", 3).unwrap().acquire_many(2).await.unwrap();
    let latch = client.leader_latch("/shop/leader").unwrap();
    let _term = latch.leadership().await.unwrap();
    let waits = tokio::spawn({
        let mutex = other.mutex("/shop/orders/7").unwrap();
        async move { mutex.lock_timeout(Duration::MAX).await.unwrap().release().await.unwrap() }
    });
    space.until_queued("/shop/orders/7", 2).await;
    for path in ["/", "/shop"] {
        let surveyed = observer.survey(path).unwrap().take().await.unwrap();
        let expected = [
            ("/shop/leader", LockKind::Election, 1, 0),
            ("/shop/orders/7", LockKind::Mutex, 1, 1),
            ("/shop/permits", LockKind::Semaphore, 2, 0),
            ("/shop/stock", LockKind::RwLock, 1, 0),
        ];
        assert_eq!((summary(&surveyed.locks), surveyed.left_out), (expected.to_vec(), 0), "{path}");
        let first = &surveyed.locks[1].participants[0];
        assert_eq!(first.identity, client.identity());
        assert_eq!((first.mode, first.standing), (Mode::Exclusive, Standing::Holds));
        assert_eq!(first.fencing_token, mutex.fencing_token());
    }
    let session = format!("0x{:x}", observer.session_id().unwrap());
    let watches = space.server().four_letter("wchc").unwrap();
    assert!(!watches.contains(&session) && watches.contains("0x"), "a survey sets no watch:\n{watches}");
    let alone = client.survey("/shop/orders/7").unwrap().depth(0).participants(9).take().await.unwrap();
    let standings: Vec<_> = alone.locks[0].participants.iter().map(|one| one.standing).collect();
    assert_eq!(standings, [Standing::Holds, Standing::Waits]);
    mutex.release().await.unwrap();
    waits.await.unwrap();
    reader.release().await.unwrap();
    permits.release().await.unwrap();
    latch.close().await.unwrap();
    let surveyed = client.survey("/").unwrap().take().await.unwrap();
    assert!(surveyed.locks.is_empty(), "{surveyed:?}");
}

#[tokio::test]
async fn nodes_beyond_the_bounds_or_denied_are_counted_and_not_looked_at() {
    let space = Space::new();
    let (client, outsider) = (space.client().await, space.outsider().await);
    let _guard = client.mutex("/a/b/c").unwrap().lock().await.unwrap();
    let deep = client.survey("/").unwrap().depth(1).take().await.unwrap();
    assert_eq!((deep.locks.len(), deep.left_out), (0, 1));
    let few = client.survey("/").unwrap().nodes(2).take().await.unwrap();
    assert_eq!((few.locks.len(), few.left_out), (0, 1));
    assert_eq!(client.survey("/").unwrap().nodes(0).take().await.unwrap().left_out, 1);
    // The namespace, `/a`, `/a/b` and the lock.
    let enough = client.survey("/").unwrap().nodes(4).depth(3).take().await.unwrap();
    assert_eq!((enough.locks.len(), enough.left_out), (1, 0));
    // No client may list the children.
    space.restrict("/denied", zk::Permission::CREATE).await;
    outsider.create(&space.full("/denied/below"), b"", &persistent()).await.unwrap();
    let denied = client.survey("/").unwrap().take().await.unwrap();
    assert_eq!((denied.locks.len(), denied.left_out), (1, 1));
    assert!(matches!(denied.denied, Some(LockError::Denied { path, .. }) if path == "/denied"));
    for path in ["/many/1", "/many/2", "/many/3"] {
        outsider.mkdir(&space.full(path), &persistent()).await.unwrap();
    }
    // The node itself, and one of the three below it.
    let many = client.survey("/many").unwrap().nodes(2).take().await.unwrap();
    assert_eq!((many.locks.len(), many.left_out), (0, 2), "each is counted once");
}

#[tokio::test]
async fn a_lock_whose_contender_may_not_be_read_is_counted_and_so_are_those_below_it() {
    let space = Space::new();
    let (client, outsider) = (space.client().await, space.outsider().await);
    let _below = client.mutex("/a/below").unwrap().lock().await.unwrap();
    let closed = [zk::Acl::new(zk::Permission::ADMIN, zk::AuthId::anyone())];
    let options = zk::CreateMode::EphemeralSequential.with_acls(closed.as_slice().into());
    outsider.create(&space.full("/a/_c_x-lock-"), b"", &options).await.unwrap();
    outsider.create(&space.full("/a/_c_y-lock-"), b"", &sequential()).await.unwrap();
    let surveyed = client.survey("/").unwrap().participants(2).take().await.unwrap();
    let expected = [("/a", LockKind::Mutex, 1, 1), ("/a/below", LockKind::Mutex, 1, 0)];
    assert_eq!((summary(&surveyed.locks), surveyed.left_out), (expected.to_vec(), 0));
    let standings =
        surveyed.locks.iter().map(|lock| lock.participants.iter().map(|it| it.standing).collect::<Vec<_>>());
    assert_eq!(
        standings.collect::<Vec<_>>(),
        [[Standing::Waits], [Standing::Holds]],
        "the denied one is left out"
    );
}

#[tokio::test]
async fn a_waiter_that_becomes_the_first_between_the_lists_of_a_semaphore_is_counted() {
    const PATH: &str = "/permits";
    let space = Space::new();
    let waiter = |client: Client| {
        let semaphore = client.semaphore(PATH, 1).unwrap();
        tokio::spawn(async move { semaphore.acquire_timeout(Duration::MAX).await.unwrap() })
    };
    let holder = space.client().await.semaphore(PATH, 1).unwrap().acquire().await.unwrap();
    // It waits behind the gate, and has a node in both queues. The other one is behind it at the gate.
    let inside = waiter(space.client().await);
    space.until_queued(&format!("{PATH}/leases"), 2).await;
    let _outside = waiter(space.client().await);
    space.until_queued(&format!("{PATH}/locks"), 2).await;
    let (proxy, observer) = space.proxied().await;
    let survey = async || observer.survey(PATH).unwrap().depth(0).take().await.unwrap();
    assert_eq!(summary(&survey().await.locks), [(PATH, LockKind::Semaphore, 1, 2)]);
    // The first list is that of the semaphore's node, and the second one that of the permits.
    let listed = proxy.on_reply(Opcode::GET_CHILDREN).nth(2).hold();
    let changes = async {
        listed.struck().await;
        holder.release().await.unwrap();
        let inside = soon(inside).await.unwrap();
        until(async || space.children("/permits/locks").await.len() == 1, "the gate is passed on").await;
        listed.release();
        inside
    };
    let (surveyed, _inside) = soon(async { tokio::join!(survey(), changes) }).await;
    assert_eq!(summary(&surveyed.locks), [(PATH, LockKind::Semaphore, 1, 2)]);
}
