//! A number of permits that is stored in a separate node, and changes.

use tokio::task::JoinHandle;
use zklock::{Client, LockError, Permits, Semaphore, SemaphoreGuard};
use zklock_testkit::wire::Opcode;
use zookeeper_client as zk;

use super::{GATE, LEASES, PATH, SHORT, spawn_take, take, until_nothing_is_left};
use crate::support::{Space, failed, soon, until};

const LIMIT: &str = "/limits/pool";

fn semaphore(client: &Client, seed: u32) -> Semaphore {
    client.semaphore(PATH, Permits::shared(LIMIT, seed)).unwrap()
}

async fn stated(space: &Space) -> Vec<u8> {
    space.outsider().await.get_data(&space.full(LIMIT)).await.unwrap().0
}

async fn waiter(space: &Space, semaphore: &Semaphore) -> JoinHandle<Result<SemaphoreGuard, LockError>> {
    let taken = space.children(LEASES).await.len();
    space.until_empty(GATE).await;
    let waiting = spawn_take(semaphore, 1);
    space.until_queued(LEASES, taken + 1).await;
    waiting
}

#[tokio::test]
async fn a_missing_number_is_seeded_or_set_in_the_form_of_curator_and_a_seed_overwrites_none() {
    for is_set in [false, true] {
        let space = Space::new();
        let semaphore = semaphore(&space.client().await, 2);
        if is_set {
            semaphore.set_permits(2).await.unwrap();
        }
        let _guard = take(&semaphore, 2).await;
        assert_eq!(stated(&space).await, [0, 0, 0, 2]);
        let stat = space.outsider().await.check_stat(&space.full(LIMIT)).await.unwrap().unwrap();
        assert_eq!(stat.ephemeral_owner, 0, "it stays");
        let other = self::semaphore(&space.client().await, 7);
        assert!(other.try_acquire().await.unwrap().is_none());
        assert_eq!(stated(&space).await, [0, 0, 0, 2]);
    }
}

#[tokio::test]
async fn a_greater_number_lets_waiters_in() {
    let space = Space::new();
    let (holder, other) = (semaphore(&space.client().await, 1), semaphore(&space.client().await, 1));
    let guard = take(&holder, 1).await;
    let waiting = waiter(&space, &other).await;
    let behind = spawn_take(&semaphore(&space.client().await, 1), 1);
    space.until_queued(GATE, 2).await;
    holder.set_permits(2).await.unwrap();
    assert_eq!(stated(&space).await, [0, 0, 0, 2]);
    let second = soon(waiting).await.unwrap().unwrap();
    space.until_queued(LEASES, 3).await;
    // Any client may change the number, for example Curator.
    space.outsider().await.set_data(&space.full(LIMIT), &[0, 0, 0, 3], None).await.unwrap();
    let third = soon(behind).await.unwrap().unwrap();
    assert!(guard.is_held() && second.is_held() && third.is_held());
    for guard in [guard, second, third] {
        guard.release().await.unwrap();
    }
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_number_that_fell_is_heeded_when_a_permit_comes_back_at_the_same_moment() {
    let (space, proxy, client) = Space::with_proxy().await;
    let (holder, semaphore) = (semaphore(&space.client().await, 2), semaphore(&client, 2));
    let (one, two) = (take(&holder, 1).await, take(&holder, 1).await);
    let waiting = waiter(&space, &semaphore).await;
    until(|| async { space.is_watched(LIMIT) }, "the waiter watches the number").await;
    // The waiter gets both events at once.
    let late = proxy.on_notification().hold();
    holder.set_permits(1).await.unwrap();
    one.release().await.unwrap();
    space.until_queued(LEASES, 2).await;
    late.release();
    assert_waits(&space, &waiting).await;
    two.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_number_that_falls_while_a_permit_is_taken_is_heeded() {
    let (space, proxy, client) = Space::with_proxy().await;
    let (other, semaphore) = (semaphore(&space.client().await, 1), semaphore(&client, 1));
    take(&semaphore, 1).await.release().await.unwrap();
    until_nothing_is_left(&space).await;
    // The first node is that at the gate.
    let entering = proxy.on_request(Opcode::CREATE2).nth(2).hold();
    let waiting = spawn_take(&semaphore, 1);
    soon(entering.struck()).await;
    other.set_permits(0).await.unwrap();
    entering.release();
    assert_waits(&space, &waiting).await;
    other.set_permits(1).await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

/// Checks that a call goes on to wait for a permit when it has heard all news. It watches the number then.
async fn assert_waits(space: &Space, waiting: &JoinHandle<Result<SemaphoreGuard, LockError>>) {
    until(async || waiting.is_finished() || space.is_watched(LIMIT), "the call has heard the news").await;
    assert!(!waiting.is_finished());
}

#[tokio::test]
async fn a_number_of_zero_lets_nobody_in_and_one_that_is_too_small_not_all_until_it_rises() {
    let space = Space::new();
    let semaphore = semaphore(&space.client().await, 0);
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    assert!(failed(semaphore.acquire_timeout(SHORT).await).is_contended());
    until_nothing_is_left(&space).await;
    let waiting = spawn_take(&semaphore, 1);
    space.until_queued(LEASES, 1).await;
    semaphore.set_permits(1).await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
    let waiting = spawn_take(&semaphore, 3);
    space.until_queued(LEASES, 2).await;
    semaphore.set_permits(3).await.unwrap();
    let _guard = soon(waiting).await.unwrap().unwrap();
    assert_eq!(space.children(LEASES).await.len(), 3);
}

#[tokio::test]
async fn foreign_data_in_the_number_is_an_error_that_names_it_and_leaves_nothing() {
    let space = Space::new();
    let semaphore = semaphore(&space.client().await, 1);
    let guard = take(&semaphore, 1).await;
    let waiting = waiter(&space, &semaphore).await;
    let outsider = space.outsider().await;
    outsider.set_data(&space.full(LIMIT), b"seven", None).await.unwrap();
    let check = |error: LockError| {
        let text = error.to_string();
        assert!(text.contains(LIMIT) && text.contains("5 bytes of data are not a number"), "{text}");
    };
    check(failed(soon(waiting).await.unwrap()));
    check(failed(soon(semaphore.acquire()).await));
    check(failed(soon(semaphore.try_acquire()).await));
    check(failed(soon(semaphore.participants()).await));
    assert_eq!((space.children(LEASES).await.len(), space.children(GATE).await.len()), (1, 0));
    assert!(guard.is_held());
    assert_eq!(stated(&space).await, b"seven");
    semaphore.set_permits(1).await.unwrap();
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_number_that_is_deleted_is_seeded_again() {
    let space = Space::new();
    let (holder, other) = (semaphore(&space.client().await, 1), semaphore(&space.client().await, 2));
    let _guard = take(&holder, 1).await;
    let waiting = waiter(&space, &other).await;
    space.outsider().await.delete(&space.full(LIMIT), None).await.unwrap();
    // The waiter creates the number with its own initial value, which is greater.
    let _second = soon(waiting).await.unwrap().unwrap();
    assert_eq!(stated(&space).await, [0, 0, 0, 2]);
}

#[tokio::test]
async fn a_number_that_may_not_be_read_is_denied_and_leaves_nothing() {
    let space = Space::new();
    let semaphore = semaphore(&space.client().await, 1);
    take(&semaphore, 1).await.release().await.unwrap();
    space.restrict(LIMIT, zk::Permission::NONE).await;
    let error = failed(soon(semaphore.acquire()).await);
    assert!(matches!(&error, LockError::Denied { path, .. } if path == LIMIT), "{error}");
    let error = failed(soon(semaphore.set_permits(2)).await);
    assert!(matches!(&error, LockError::Denied { path, .. } if path == LIMIT), "{error}");
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn participants_that_share_the_number_and_those_that_give_one_find_out_about_each_other() {
    let (space, [client, other]) = Space::with_clients().await;
    let (shared, given) = (semaphore(&client, 3), other.semaphore(PATH, 3).unwrap());
    let guard = take(&shared, 1).await;
    let error = failed(soon(given.acquire()).await).to_string();
    assert!(error.contains("others use the number in") && error.contains(LIMIT), "{error}");
    guard.release().await.unwrap();
    let guard = take(&given, 1).await;
    let error = failed(soon(shared.acquire()).await).to_string();
    assert!(error.contains("uses a shared number, but others use 3"), "{error}");
    guard.release().await.unwrap();
    take(&shared, 1).await.release().await.unwrap();
    until_nothing_is_left(&space).await;
}
