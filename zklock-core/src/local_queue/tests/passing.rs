//! A lock that is passed on, and a node that leaves.

use super::*;

#[test]
fn the_first_call_starts_the_task_which_enters_for_it_and_grants_at_the_head() {
    let mut scene = Scene::new();
    assert_eq!(scene.wait(Exclusive), []);
    assert_eq!(scene.state.wake(scene.now), Wake::NewTask);
    scene.enter(Exclusive);
    assert_eq!(scene.wait(Exclusive), []);
    assert_eq!(scene.state.wake(scene.now), Wake::Nobody);
    scene.rest();
    assert_eq!(scene.state.wake(scene.now), Wake::Nobody);
    assert_eq!(scene.head(), [(1, 0)]);
    assert_eq!(scene.give_back(), (vec![(2, 1)], 0));
}

#[test]
fn a_node_that_nobody_holds_is_retaken_until_the_task_makes_it_leave() {
    let mut scene = Scene::held(Exclusive);
    scene.rest();
    assert_eq!(scene.give_back(), (vec![], 0));
    assert_eq!(scene.state.wake(scene.now), Wake::NewTask);
    assert_eq!(scene.state.next(scene.now), Need::Leave(scene.node, 1));
    assert_eq!(scene.wait(Exclusive), [(2, 1)]);
    scene.state.leave();
    assert_eq!(scene.left(), 0);
    scene.give_back();
    // A call has had it since.
    assert_eq!(scene.state.next(scene.now), Need::Leave(scene.node, 2));
    scene.state.leave();
    assert_eq!(scene.left(), 1);
    assert_eq!(scene.wait(Exclusive), []);
    scene.enter(Exclusive);
}

#[test]
fn a_lock_is_passed_on_once_the_state_of_its_lease_is_known() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    scene.rest();
    scene.claim.becomes(Readiness::Pending);
    assert_eq!(scene.give_back(), (vec![], 0));
    assert_eq!(scene.state.wake(scene.now), Wake::Task);
    let need = scene.state.next(scene.now);
    let Need::Wait(watched, _) = need else { panic!("{need:?}") };
    assert_eq!(watched[0].look.readiness, Readiness::Pending);
    assert_eq!(grants(&scene.state.serve(scene.now)), []);
    scene.claim.becomes(Readiness::Ready);
    assert_eq!(grants(&scene.state.serve(scene.now)), [(2, 1)]);
}

#[test]
fn a_node_that_may_never_be_passed_on_leaves_and_the_waiter_enters_again() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    scene.claim.becomes(Readiness::Over);
    assert_eq!(scene.give_back(), (vec![], 1));
    scene.enter(Exclusive);
    assert_eq!(scene.head(), [(2, 0)]);
}

#[test]
fn a_lost_node_leaves_and_later_events_of_it_change_nothing() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    let lost = scene.node;
    scene.claim.becomes(Readiness::Lost);
    assert_eq!(grants(&scene.state.serve(scene.now)), []);
    assert_eq!(scene.left(), 1);
    assert_eq!(scene.give_back(), (vec![], 0));
    scene.enter(Exclusive);
    assert_eq!(scene.head(), [(2, 0)]);
    assert_eq!(grants(&scene.state.given_back(lost, scene.now)), []);
    assert_eq!(scene.wait(Exclusive), []);
    assert_eq!(scene.give_back().0, [(3, 1)]);
}

#[test]
fn the_last_waiter_that_goes_takes_the_contender_with_it() {
    let mut scene = Scene::new();
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    scene.rest();
    scene.gone(1);
    assert_eq!(scene.state.wake(scene.now), Wake::Task);
    assert!(matches!(scene.state.next(scene.now), Need::Withdraw));
    assert!(matches!(scene.state.next(scene.now), Need::Wait(..)));
    assert_eq!(scene.attempt(Exclusive), Ok(vec![]), "a node that leaves refuses nobody");
    scene.rest();
    scene.state.withdrawn();
    assert!(matches!(
        scene.state.next(scene.now),
        Need::Contend(Entry { contention: Contention::Leave, .. })
    ));
}

#[test]
fn a_contender_of_the_other_side_than_the_first_call_is_withdrawn() {
    let mut scene = Scene::new();
    scene.wait(Exclusive);
    scene.wait(Shared);
    scene.enter(Exclusive);
    scene.rest();
    scene.gone(1);
    assert_eq!(scene.state.wake(scene.now), Wake::Task);
    assert!(matches!(scene.state.next(scene.now), Need::Withdraw));
    scene.state.withdrawn();
    scene.enter(Shared);
}

#[test]
fn all_calls_in_line_get_an_error_and_a_closed_line_takes_no_more() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    scene.wait(Shared);
    assert_eq!(scene.state.refused().len(), 2);
    assert_eq!(scene.state.waiting(), 0);
    scene.wait(Exclusive);
    assert_eq!(scene.state.close().len(), 1);
    assert_eq!(scene.attempt(Exclusive), Err(Rejected::Closed));
    assert_eq!(scene.give_back(), (vec![], 0));
    assert!(matches!(scene.state.next(scene.now), Need::Leave(..)));
}

#[test]
fn a_task_that_watches_a_node_wakes_when_it_leaves() {
    let mut scene = Scene::held(Shared);
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    scene.rest();
    assert_eq!(scene.give_back(), (vec![], 1));
    assert_eq!(scene.state.wake(scene.now), Wake::Task);
    assert!(matches!(scene.state.next(scene.now), Need::Wait(watched, _) if watched.is_empty()));
}

#[test]
fn a_call_whose_caller_has_a_lost_grant_comes_back_to_the_front() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    scene.claim.becomes(Readiness::Lost);
    let again =
        Call { id: CallId(1), mode: Exclusive, contention: Contention::Wait, deadline: None, caller: () };
    assert_eq!(grants(&scene.state.arrive(again, scene.now).unwrap()), []);
    scene.enter(Exclusive);
    assert_eq!(scene.head(), [(1, 0)]);
    assert_eq!(scene.give_back().0, [(2, 1)]);
}

#[test]
fn a_line_whose_task_ended_early_leaves_the_lock_to_its_holder_and_has_another_task_for_later_calls() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    let (calls, claims) = scene.state.abandon();
    assert_eq!((calls.len(), claims.len()), (1, 1));
    assert_eq!(scene.give_back(), (vec![], 0));
    assert_eq!(scene.state.wake(scene.now), Wake::Nobody);
    scene.wait(Exclusive);
    assert_eq!(scene.state.wake(scene.now), Wake::NewTask);
}

#[test]
fn a_grant_has_its_claim_to_the_lease_before_the_line_gives_up_its_own() {
    let mut scene = Scene::new();
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    let claim = Claim::new();
    let served = scene.state.headed(claim.clone(), scene.now);
    assert_eq!(claim.claims(), 3, "this one, that of the line and that of the grant");
    drop(scene.state.abandon());
    assert_eq!(claim.claims(), 2);
    drop(served);
}
