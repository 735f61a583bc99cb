//! Calls that end without the lock: tries, deadlines and callers that are gone.

use super::*;

#[test]
fn a_try_is_refused_where_others_hold_or_wait_and_only_there() {
    let mut scene = Scene::held(Exclusive);
    assert_eq!(scene.attempt(Exclusive), Err(Turned::Contended));
    assert_eq!(scene.attempt(Shared), Err(Turned::Contended));
    scene.give_back();
    assert_eq!(scene.attempt(Shared), Ok(vec![(4, 1)]));
    assert_eq!(scene.attempt(Shared), Ok(vec![(5, 2)]));
    assert_eq!(scene.attempt(Exclusive), Err(Turned::Contended));
    // The state of the lease says nothing about others.
    scene.lease.becomes(Ready::NotYet);
    assert_eq!(scene.attempt(Shared), Ok(vec![]));
    assert_eq!(scene.attempt(Shared), Ok(vec![]));
    assert_eq!(scene.attempt(Exclusive), Err(Turned::Contended));
}

#[test]
fn a_vain_try_is_answered_when_its_contender_has_left_or_at_once_if_others_use_that() {
    let mut scene = Scene::new();
    assert_eq!(scene.attempt(Exclusive), Ok(vec![]));
    scene.enter(Exclusive);
    assert_eq!(scene.line.behind(1).len(), 0);
    assert!(matches!(scene.line.agenda(scene.now), Agenda::Withdraw));
    assert_eq!(scene.line.ended().len(), 1);
    scene.attempt(Exclusive).unwrap();
    scene.enter(Exclusive);
    scene.wait(Exclusive);
    assert_eq!(scene.line.behind(1).len(), 1);
    scene.rest();
    assert_eq!(scene.head(), [(3, 0)]);
}

#[test]
fn a_vain_try_gets_a_lock_that_comes_free_meanwhile_unless_its_caller_is_gone() {
    for is_gone in [false, true] {
        let mut scene = Scene::new();
        scene.attempt(Exclusive).unwrap();
        scene.enter(Exclusive);
        scene.line.behind(1);
        if is_gone {
            scene.gone(1);
        }
        assert_eq!(scene.head().len(), usize::from(!is_gone));
    }
}

#[test]
fn deadlines_are_kept_in_order_and_wake_the_task_only_if_they_are_earlier() {
    let mut scene = Scene::held(Exclusive);
    scene.wait_for(3 * WITHIN);
    assert_eq!(scene.line.rouse(), Rouse::Start);
    scene.rest();
    scene.wait_for(3 * WITHIN);
    assert_eq!(scene.line.rouse(), Rouse::Nobody);
    scene.wait_for(WITHIN);
    assert_eq!(scene.line.rouse(), Rouse::Wake);
    assert!(scene.line.expire(scene.now).is_empty());
    let expired = scene.line.expire(scene.now + WITHIN);
    assert_eq!(expired.iter().map(|call| call.id.0).collect::<Vec<_>>(), [4]);
    assert_eq!(scene.line.expire(scene.now + 3 * WITHIN).len(), 2);
    assert_eq!(scene.line.waiting(), 0);
}

#[test]
fn ten_thousand_waiters_that_are_gone_are_swept_and_cost_little() {
    let mut scene = Scene::held(Exclusive);
    for _ in 0..10_000 {
        scene.wait(Exclusive);
    }
    assert_eq!(scene.line.queued().last().map(|(ahead, ())| ahead), Some(10_000));
    for id in (2..=10_000).rev() {
        scene.gone(id);
        assert!(scene.line.waiters.is_swept());
    }
    assert_eq!(scene.line.queued().map(|(ahead, ())| ahead).collect::<Vec<_>>(), [1]);
    assert_eq!(scene.gone(9_000), [], "a call is gone once");
    assert_eq!(scene.give_back().0, [(10_001, 1)]);
}

#[test]
fn calls_whose_time_is_over_behind_one_that_waits_are_swept() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    for _ in 0..1_000 {
        scene.wait_for(Duration::from_millis(1));
        scene.now += Duration::from_millis(1);
        assert_eq!(scene.line.expire(scene.now).len(), 1);
        assert!(scene.line.waiters.is_swept());
    }
    assert_eq!(scene.give_back().0, [(2, 1)]);
}
