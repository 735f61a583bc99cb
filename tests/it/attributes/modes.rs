//! `mode`, `permits` and `of`: functions of which several calls run at a time.

use tokio::sync::{Barrier, oneshot};
use tokio::task::spawn_blocking;
use zklock::{Client, FencingToken, LockError, Permits, SemaphoreGuard, WriteGuard, distributed_lock};

use crate::support::{Space, failed, soon};

const PATH: &str = "/connections";

#[distributed_lock(path = "/catalogue", mode = read, guard = held)]
async fn meet(others: &Barrier) -> Result<FencingToken, LockError> {
    others.wait().await;
    Ok(held.fencing_token())
}

#[distributed_lock(path = "/catalogue", mode = write, guard = held)]
async fn change(space: &Space) -> Result<(), LockError> {
    let _: &WriteGuard = held;
    let others = Barrier::new(2);
    let (one, other) = tokio::join!(meet(&others), meet(&others));
    assert_eq!([one?, other?], [held.fencing_token(); 2]);
    assert_eq!(space.children("/catalogue").await.len(), 1);
    assert!(held.is_held(), "the inner calls do not release");
    held.verify().await
}

#[tokio::test]
async fn a_reading_call_inside_of_a_writing_one_enters_without_another_contender() {
    let space = Space::new();
    soon(zklock::scope(space.client().await, change(&space))).await.unwrap();
}

#[distributed_lock(path = PATH, permits = 2, of = 3, guard = held)]
async fn take_two(taken: oneshot::Sender<FencingToken>, end: oneshot::Receiver<()>) -> Result<(), LockError> {
    let held: &SemaphoreGuard = held;
    taken.send(held.fencing_token()).unwrap();
    end.await.unwrap();
    Ok(())
}

#[distributed_lock(path = PATH, permits = wanted, of = 3, no_wait)]
async fn take(wanted: u32) -> Result<u32, LockError> {
    Ok(wanted)
}

#[distributed_lock(path = PATH, of = 3, no_wait)]
async fn take_one() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = PATH, permits = wanted, of = 3, skip, client = client)]
fn blocking(client: &Client, wanted: u32) -> Option<u32> {
    Some(wanted)
}

#[distributed_lock(path = "/shared", of = Permits::shared("/shared-number", 1), no_wait)]
async fn of_a_shared_number() -> Result<u8, LockError> {
    Ok(7)
}

#[tokio::test]
async fn a_call_takes_all_of_its_permits_or_none() {
    let space = Space::new();
    let ((taken, first), (end, ended)) = (oneshot::channel(), oneshot::channel());
    let two = tokio::spawn(zklock::scope(space.client().await, take_two(taken, ended)));
    let token = soon(first).await.unwrap();
    let client = space.client().await;
    let contended = soon(zklock::scope(client.clone(), take(2))).await;
    assert!(failed(contended).is_contended());
    soon(zklock::scope(client.clone(), take_one())).await.unwrap();
    let both = soon(spawn_blocking({
        let client = client.clone();
        move || (blocking(&client, 2), blocking(&client, 1))
    }));
    assert_eq!(both.await.unwrap(), (None, Some(1)));
    end.send(()).unwrap();
    soon(two).await.unwrap().unwrap();
    space.until_empty(&format!("{PATH}/leases")).await;
    assert_eq!(soon(zklock::scope(client, take(3))).await.unwrap(), 3);
    assert!(token.zxid() > 0);
}

#[tokio::test]
async fn the_number_of_permits_may_be_shared_in_a_node() {
    let client = Space::new().client().await;
    let semaphore = client.semaphore("/shared", Permits::shared("/shared-number", 1)).unwrap();
    let held = soon(semaphore.acquire()).await.unwrap();
    assert!(failed(soon(zklock::scope(client.clone(), of_a_shared_number())).await).is_contended());
    held.release().await.unwrap();
    assert_eq!(soon(zklock::scope(client, of_a_shared_number())).await.unwrap(), 7);
}
