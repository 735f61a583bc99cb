//! Places in the queue that are taken away by force.

use zklock::LossReason;

use super::{PATH, holder, listen, lock, participants, spawn_lock};
use crate::support::{Space, failed, soon, until};

#[tokio::test]
async fn a_lock_that_is_broken_is_a_loss_for_its_holder_and_let_to_the_next() {
    let space = Space::new();
    let [a, b] = [space.client().await, space.client().await];
    let guard = lock(&a).await;
    let called = listen(&guard);
    let waiting = spawn_lock(&b);
    space.until_queued(PATH, 2).await;
    b.break_lock(&holder(&b).await).await.unwrap();
    let next = soon(waiting).await.unwrap();
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
    assert!(next.fencing_token() > guard.fencing_token());
    assert!(failed(guard.set_data(PATH, "late").await).is_lost());
    assert!(failed(guard.release().await).is_lost());
    assert!(soon(called).await.is_err(), "nobody asked");
    next.verify().await.unwrap();
    next.release().await.unwrap();
    space.until_empty(PATH).await;
}

#[tokio::test]
async fn a_waiter_whose_place_is_taken_away_enters_again_at_the_tail() {
    let space = Space::new();
    let [a, b, c] = [space.client().await, space.client().await, space.client().await];
    let guard = lock(&a).await;
    let expelled = spawn_lock(&b);
    space.until_queued(PATH, 2).await;
    let last = spawn_lock(&c);
    space.until_queued(PATH, 3).await;
    a.break_lock(&participants(&a).await[1]).await.unwrap();
    guard.release().await.unwrap();
    let guard = soon(last).await.unwrap();
    let is_last = || async {
        let sessions: Vec<_> = participants(&a).await.iter().map(|one| Some(one.session_id)).collect();
        sessions == [c.session_id(), b.session_id()]
    };
    until(is_last, "it is at the tail").await;
    assert!(!expelled.is_finished());
    guard.release().await.unwrap();
    soon(expelled).await.unwrap().release().await.unwrap();
    space.until_empty(PATH).await;
}
