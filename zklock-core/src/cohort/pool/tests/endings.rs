//! Pools whose calls are refused, and the claims to their leases.

use super::*;

#[test]
fn a_permit_that_comes_in_while_no_call_waits_leaves() {
    let mut scene = Scene::new();
    scene.wait();
    assert_eq!(scene.enter(), [1]);
    assert!(scene.pool.gone(CallId(1), scene.now).grants.is_empty());
    let served = scene.pool.headed(ContenderId(1), Lease::new(), scene.now);
    assert_eq!((served.grants.len(), served.left.len()), (0, 1));
    assert_eq!(scene.pool.agenda(scene.now), Agenda::Over);
}

#[test]
fn a_refusal_answers_all_calls_and_ends_the_other_contenders() {
    let (mut scene, _) = Scene::held();
    (0..3).for_each(|_| drop(scene.wait()));
    assert_eq!(scene.enter(), [2, 3, 4]);
    assert_eq!(scene.pool.refused(ContenderId(2)).len(), 3);
    assert_eq!(scene.withdraw(), [4, 3]);
    scene.wait();
    assert_eq!(scene.give_back(1).0, [(5, 1, 1)]);
}

#[test]
fn a_late_refusal_of_a_contender_that_is_withdrawn_fails_no_later_call() {
    let (mut scene, _) = Scene::held();
    (0..2).for_each(|_| drop(scene.wait()));
    assert_eq!(scene.enter(), [2, 3]);
    assert_eq!(scene.pool.refused(ContenderId(2)).len(), 2);
    assert_eq!(scene.withdraw(), [3]);
    scene.wait();
    assert_eq!(scene.pool.refused(ContenderId(3)), []);
    assert_eq!(scene.give_back(1).0, [(4, 1, 1)]);
}

#[test]
fn a_closed_pool_answers_its_calls_takes_no_more_and_passes_nothing_on() {
    let (mut scene, _) = Scene::held();
    (0..2).for_each(|_| drop(scene.wait()));
    assert_eq!(scene.enter(), [2, 3]);
    assert_eq!(scene.pool.close().len(), 2);
    assert_eq!(scene.withdraw(), [3, 2]);
    let id = scene.pool.id();
    let call = Call { id, side: Side::Exclusive, manner: Manner::Wait, deadline: None, caller: Some(()) };
    assert!(matches!(scene.pool.arrive(call, scene.now), Err(Turned::Closed)));
    assert_eq!(scene.give_back(1), (vec![], 1));
}

#[test]
fn a_pool_whose_task_ended_early_leaves_permits_to_their_holders_and_has_another_task_for_later_calls() {
    let (mut scene, lease) = Scene::held();
    scene.wait();
    let (calls, leases) = scene.pool.abandon();
    assert_eq!((calls.len(), leases.len()), (1, 1));
    drop(leases);
    assert_eq!(lease.claims(), 1);
    assert_eq!(scene.give_back(1), (vec![], 0));
    assert_eq!(scene.pool.rouse(), Rouse::Nobody);
    scene.wait();
    assert_eq!(scene.pool.rouse(), Rouse::Start);
}

#[test]
fn a_grant_has_its_claim_to_the_lease_before_the_pool_gives_up_its_own() {
    let mut scene = Scene::new();
    scene.wait();
    scene.enter();
    let lease = Lease::new();
    let served = scene.pool.headed(ContenderId(1), lease.clone(), scene.now);
    assert_eq!(lease.claims(), 3, "this one, that of the pool and that of the grant");
    drop(scene.pool.abandon());
    assert_eq!(lease.claims(), 2);
    drop(served);
}
