//! Calls that end without the lock: tries, deadlines and callers that are gone.

use super::*;

#[test]
fn a_try_is_refused_where_others_hold_or_wait_and_only_there() {
    let mut scene = Scene::held(Exclusive);
    assert_eq!(scene.attempt(Exclusive), Err(Rejected::Contended));
    assert_eq!(scene.attempt(Shared), Err(Rejected::Contended));
    scene.give_back();
    assert_eq!(scene.attempt(Shared), Ok(vec![(4, 1)]));
    assert_eq!(scene.attempt(Shared), Ok(vec![(5, 2)]));
    assert_eq!(scene.attempt(Exclusive), Err(Rejected::Contended));
    // The state of the lease says nothing about others.
    scene.claim.becomes(Readiness::Pending);
    assert_eq!(scene.attempt(Shared), Ok(vec![]));
    assert_eq!(scene.attempt(Shared), Ok(vec![]));
    assert_eq!(scene.attempt(Exclusive), Err(Rejected::Contended));
}

#[test]
fn a_vain_try_is_answered_when_its_contender_has_left_or_at_once_if_others_wait_on() {
    let mut scene = Scene::new();
    assert_eq!(scene.attempt(Shared), Ok(vec![]));
    const TRY: Entry = Entry { mode: Shared, contention: Contention::Leave };
    assert_eq!(scene.state.next(scene.now), Need::Contend(TRY));
    // It has come after the contender has looked.
    assert_eq!(scene.attempt(Shared), Ok(vec![]));
    let ids = |calls: Vec<Call<()>>| calls.iter().map(|call| call.id.0).collect::<Vec<_>>();
    assert_eq!(ids(scene.state.contended()), [1]);
    assert_eq!(scene.state.next(scene.now), Need::Contend(TRY));
    scene.wait(Shared);
    scene.rest();
    assert_eq!(ids(scene.state.contended()), [2]);
    scene.enter(Shared);
    scene.attempt(Shared).unwrap();
    assert_eq!(ids(scene.state.behind(1)), [4]);
    assert_eq!(scene.head(), [(3, 0)]);
}

#[test]
fn a_call_that_waits_uses_the_contender_of_a_try_and_not_the_other_way_round() {
    let mut scene = Scene::new();
    scene.attempt(Exclusive).unwrap();
    scene.state.next(scene.now);
    scene.wait(Exclusive);
    scene.gone(1);
    scene.rest();
    assert_eq!(scene.head(), [(2, 0)]);
    let mut scene = Scene::new();
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    scene.gone(1);
    scene.attempt(Exclusive).unwrap();
    assert_eq!(scene.state.next(scene.now), Need::Withdraw);
    scene.state.withdrawn();
    assert!(matches!(
        scene.state.next(scene.now),
        Need::Contend(Entry { contention: Contention::Leave, .. })
    ));
}

#[test]
fn deadlines_are_kept_in_order_and_wake_the_task_only_if_they_are_earlier() {
    let mut scene = Scene::held(Exclusive);
    scene.wait_for(3 * WITHIN);
    assert_eq!(scene.state.wake(scene.now), Wake::NewTask);
    scene.rest();
    scene.wait_for(3 * WITHIN);
    assert_eq!(scene.state.wake(scene.now), Wake::Nobody);
    scene.wait_for(WITHIN);
    assert_eq!(scene.state.wake(scene.now), Wake::Task);
    assert!(scene.state.expire(scene.now).is_empty());
    let expired = scene.state.expire(scene.now + WITHIN);
    assert_eq!(expired.iter().map(|call| call.id.0).collect::<Vec<_>>(), [4]);
    assert_eq!(scene.state.expire(scene.now + 3 * WITHIN).len(), 2);
    assert_eq!(scene.state.waiting(), 0);
}

#[test]
fn ten_thousand_waiters_that_are_gone_leave_the_others_in_their_order() {
    let mut scene = Scene::held(Exclusive);
    for _ in 0..10_000 {
        scene.wait(Exclusive);
    }
    assert_eq!(scene.state.queued().last().map(|(ahead, ())| ahead), Some(10_000));
    for id in (2..=10_000).rev() {
        scene.gone(id);
    }
    assert_eq!(scene.state.queued().map(|(ahead, ())| ahead).collect::<Vec<_>>(), [1]);
    assert_eq!(scene.gone(9_000), [], "a call is gone once");
    assert_eq!(scene.give_back().0, [(10_001, 1)]);
}

#[test]
fn a_call_knows_its_place_once_that_of_its_client_is_known() {
    let mut scene = Scene::new();
    for _ in 0..3 {
        scene.wait(Exclusive);
    }
    scene.enter(Exclusive);
    assert_eq!(scene.state.queued_as(CallId(2)), None);
    scene.state.behind(4);
    let place = |scene: &mut Scene, id| scene.state.queued_as(CallId(id)).map(|(ahead, ())| ahead);
    assert_eq!([1, 2, 3].map(|id| place(&mut scene, id)), [4, 5, 6].map(Some));
    assert_eq!(scene.head(), [(1, 0)]);
    assert_eq!([1, 2, 3].map(|id| place(&mut scene, id)), [None, Some(1), Some(2)]);
}
