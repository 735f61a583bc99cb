//! The contract of the multi-lock.

mod loss;

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use zklock::{Client, LockError, Member, MultiGuard};
use zklock_testkit::wire::Opcode;

use crate::support::{Space, assert_waited, failed, soon, spawn_lock_of, until, until_in_line};

const A: &str = "/accounts/a";
const B: &str = "/accounts/b";
const C: &str = "/accounts/c";

async fn lock(client: &Client, paths: &[&str]) -> MultiGuard {
    let multi = client.multi(paths.iter().copied()).unwrap();
    soon(multi.lock_timeout(Duration::MAX)).await.unwrap()
}

fn spawn_lock(client: &Client, paths: &[&str]) -> JoinHandle<Result<MultiGuard, LockError>> {
    let multi = client.multi(paths.iter().copied()).unwrap();
    tokio::spawn(async move { multi.lock_timeout(Duration::MAX).await })
}

async fn queues(space: &Space) -> [usize; 3] {
    [space.children(A).await.len(), space.children(B).await.len(), space.children(C).await.len()]
}

async fn until_nothing_is_left(space: &Space) {
    for path in [A, B, C] {
        space.until_empty(path).await;
    }
}

#[tokio::test]
async fn all_members_are_held_and_released_in_the_order_of_their_paths() {
    let (space, [client, other]) = Space::with_clients().await;
    let multi = client.multi([C, A, B]).unwrap();
    assert_eq!(multi.paths().collect::<Vec<_>>(), [A, B, C]);
    let guard = multi.lock().await.unwrap();
    assert_eq!(guard.paths().collect::<Vec<_>>(), [A, B, C]);
    assert_eq!(queues(&space).await, [1, 1, 1]);
    assert!(guard.is_held());
    guard.verify().await.unwrap();
    for path in [A, B, C] {
        assert!(other.mutex(path).unwrap().try_lock().await.unwrap().is_none());
    }
    let tokens = [A, B, C].map(|path| guard.fencing_token(path).unwrap());
    assert!(tokens.is_sorted(), "they were entered in this order");
    assert_eq!(guard.fencing_token("/accounts/d"), None);
    let participant = &other.mutex(B).unwrap().participants().await.unwrap()[0];
    assert_eq!(participant.fencing_token, tokens[1]);
    guard.release().await.unwrap();
    assert_eq!(queues(&space).await, [0, 0, 0]);
    drop(client.lock_all([B, C]).await.unwrap());
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_try_takes_all_or_leaves_all_without_a_trace() {
    let (space, [client, other]) = Space::with_clients().await;
    for taken in [A, B, C] {
        let single = other.mutex(taken).unwrap().lock().await.unwrap();
        let before = queues(&space).await;
        assert!(client.multi([A, B, C]).unwrap().try_lock().await.unwrap().is_none());
        assert_eq!(queues(&space).await, before);
        single.release().await.unwrap();
    }
    let guard = client.multi([A, B, C]).unwrap().try_lock().await.unwrap().expect("all are free");
    assert!(guard.is_held());
    guard.release().await.unwrap();
    assert_eq!(queues(&space).await, [0, 0, 0]);
}

#[rstest::rstest]
#[tokio::test]
async fn one_deadline_holds_for_all_members_together(#[values(false, true)] is_lost: bool) {
    let (space, [client, other]) = Space::with_clients().await;
    let (multi, wait) = (client.multi([A, B]).unwrap(), Duration::from_secs(3));
    let first = if is_lost { None } else { Some(other.mutex(A).unwrap().lock().await.unwrap()) };
    let second = other.mutex(B).unwrap().lock().await.unwrap();
    let started = Instant::now();
    let waiting = tokio::spawn(async move { multi.lock_timeout(wait).await });
    space.until_queued(if is_lost { B } else { A }, 2).await;
    // Half of the wait is spent on the first member, or in vain.
    tokio::time::sleep_until((started + wait / 2).into()).await;
    match first {
        Some(first) => first.release().await.unwrap(),
        None => space.delete_children(A).await,
    }
    let error = failed(soon(waiting).await.unwrap());
    let elapsed = started.elapsed();
    assert!(elapsed >= wait && elapsed < wait * 3 / 2, "{elapsed:?}");
    assert_waited(&error, "3s", B);
    // No time is left to wait for the release of the first member.
    space.until_empty(A).await;
    space.until_queued(B, 1).await;
    second.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn members_after_the_one_that_is_waited_for_are_not_touched() {
    let (space, [client, other]) = Space::with_clients().await;
    let single = other.mutex(B).unwrap().lock().await.unwrap();
    let waiting = spawn_lock(&client, &[C, B, A]);
    until(|| async { queues(&space).await == [1, 2, 0] }, "it waits for the second member").await;
    lock(&other, &[C]).await.release().await.unwrap();
    single.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn members_can_be_of_any_kind() {
    let (space, [client, other]) = Space::with_clients().await;
    let members = [Member::write("/w"), Member::read("/r"), Member::exclusive("/e"), Member::mutex("/m")];
    let guard = client.lock_all(members.clone()).await.unwrap();
    assert_eq!(guard.paths().collect::<Vec<_>>(), ["/e", "/m", "/r", "/w"]);
    let names = async |path: &str| space.children(path).await.remove(0);
    assert!(names("/w").await.contains("-__WRIT__") && names("/r").await.contains("-__READ__"));
    assert!(names("/m").await.contains("-lock-") && names("/e/leases").await.contains("-lease-"));
    assert!(other.rwlock("/w").unwrap().try_read().await.unwrap().is_none());
    assert!(other.rwlock("/r").unwrap().try_write().await.unwrap().is_none());
    assert!(other.exclusive("/e").unwrap().try_lock().await.unwrap().is_none());
    // Readers share a lock as members, too.
    let others = [Member::read("/r"), Member::mutex("/n")];
    let sharing = soon(other.lock_all(others)).await.unwrap();
    assert!(other.multi(members).unwrap().try_lock().await.unwrap().is_none());
    sharing.release().await.unwrap();
    assert!(["/w", "/r", "/e", "/m"].iter().all(|path| guard.fencing_token(path).is_some()));
    guard.release().await.unwrap();
    for path in ["/w", "/r", "/e/leases", "/e/locks", "/m", "/n"] {
        space.until_empty(path).await;
    }
}

#[tokio::test]
async fn members_are_entered_again_inside_without_a_node() {
    let (space, client) = Space::with_client().await;
    let members = [Member::mutex(A), Member::read(B), Member::write(C), Member::exclusive("/e")];
    let guard = client.lock_all(members).await.unwrap();
    guard
        .scope(async {
            let again = client.mutex(A).unwrap().lock().await.unwrap();
            assert_eq!(Some(again.fencing_token()), guard.fencing_token(A));
            drop(again);
            let again = client.rwlock(B).unwrap().read().await.unwrap();
            assert_eq!(Some(again.fencing_token()), guard.fencing_token(B));
            let upgrade = failed(soon(client.rwlock(B).unwrap().write()).await);
            assert!(matches!(&upgrade, LockError::Upgrade { path, .. } if path == B), "{upgrade}");
            client.rwlock(C).unwrap().read().await.unwrap().release().await.unwrap();
            client.rwlock(C).unwrap().write().await.unwrap().release().await.unwrap();
            let reentrant = failed(soon(client.lock_all([Member::mutex(A), Member::exclusive("/e")])).await);
            assert!(matches!(&reentrant, LockError::Reentrant { path, .. } if path == "/e"), "{reentrant}");
            // Some members of the other multi-lock are held, and others are not.
            let wider = client.lock_all([A, "/d"]).await.unwrap();
            assert_eq!(wider.fencing_token(A), guard.fencing_token(A));
            assert_eq!(queues(&space).await, [1, 1, 1]);
            wider.release().await.unwrap();
            space.until_empty("/d").await;
        })
        .await;
    assert!(guard.is_held());
    assert_eq!(queues(&space).await, [1, 1, 1]);
}

#[tokio::test]
async fn a_holder_of_all_is_asked_to_release_by_way_of_any_member() {
    let (_, [client, other]) = Space::with_clients().await;
    let guard = lock(&client, &[A, B]).await;
    let holder = other.mutex(B).unwrap().participants().await.unwrap().remove(0);
    other.revoke(&holder).await.unwrap();
    soon(guard.revoked()).await;
    assert!(guard.is_held());
}

#[tokio::test]
async fn a_member_is_passed_on_in_memory_from_and_to_another_call_of_the_client() {
    let (space, proxy, client) = Space::with_proxy().await;
    let mutex = client.mutex(B).unwrap();
    let held = mutex.lock().await.unwrap();
    let token = held.fencing_token();
    let before = proxy.requests(Opcode::CREATE2);
    let waiting = spawn_lock(&client, &[A, B]);
    until_in_line(&mutex, 1).await;
    held.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    let of_both = guard.fencing_token(B);
    assert!(of_both > Some(token));
    guard.verify().await.unwrap();
    // The queue of the first member did not exist.
    assert!(proxy.requests(Opcode::CREATE2) - before <= 2);
    assert_eq!(queues(&space).await, [1, 1, 0]);
    assert!(mutex.try_lock().await.unwrap().is_none());
    let before = proxy.requests(Opcode::CREATE2);
    let waiting = spawn_lock_of(&mutex);
    until_in_line(&mutex, 1).await;
    guard.release().await.unwrap();
    let next = soon(waiting).await.unwrap();
    assert!(Some(next.fencing_token()) > of_both);
    assert_eq!(proxy.requests(Opcode::CREATE2), before);
}

#[tokio::test]
async fn a_member_that_is_entered_again_inside_stays_when_the_others_are_given_back() {
    let (space, client) = Space::with_client().await;
    let guard = client.lock_all([Member::mutex(A), Member::write(B), Member::mutex(C)]).await.unwrap();
    let again = guard.scope(async { client.rwlock(B).unwrap().read().await.unwrap() }).await;
    drop(guard);
    space.until_empty(A).await;
    space.until_empty(C).await;
    // The writer has become a reader.
    let other = space.client().await;
    soon(other.rwlock(B).unwrap().read()).await.unwrap().release().await.unwrap();
    again.verify().await.unwrap();
    assert_eq!(queues(&space).await, [0, 1, 0]);
    again.release().await.unwrap();
    until_nothing_is_left(&space).await;
}
