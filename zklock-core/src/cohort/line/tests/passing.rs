//! A lock that is passed on, and a node that leaves.

use super::*;

#[test]
fn the_first_call_starts_the_task_which_enters_for_it_and_grants_at_the_head() {
    let mut scene = Scene::new();
    assert_eq!(scene.wait(Exclusive), []);
    assert_eq!(scene.line.rouse(), Rouse::Start);
    scene.enter(Exclusive);
    assert_eq!(scene.wait(Exclusive), []);
    assert_eq!(scene.line.rouse(), Rouse::Nobody);
    scene.rest();
    assert_eq!(scene.line.rouse(), Rouse::Nobody);
    assert_eq!(scene.head(), [(1, 0)]);
    assert_eq!(scene.give_back(), (vec![(2, 1)], 0));
}

#[test]
fn a_node_that_nobody_holds_is_retaken_until_the_task_makes_it_leave() {
    let mut scene = Scene::held(Exclusive);
    scene.rest();
    assert_eq!(scene.give_back(), (vec![], 0));
    assert_eq!(scene.line.rouse(), Rouse::Start);
    assert_eq!(scene.wait(Exclusive), [(2, 1)]);
    scene.give_back();
    scene.look_twice();
    assert!(matches!(scene.line.agenda(scene.now), Agenda::Leave(_)));
    assert_eq!(scene.wait(Exclusive), []);
    scene.enter(Exclusive);
}

#[test]
fn a_node_whose_release_is_awaited_leaves_at_once_if_it_has_had_no_other_holder() {
    let mut scene = Scene::held(Exclusive);
    assert_eq!(scene.release(), (vec![], 1));
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    assert_eq!(scene.release(), (vec![(2, 1)], 0));
    assert_eq!(scene.release(), (vec![], 0));
    assert_eq!(scene.wait(Exclusive), [(3, 2)]);
}

#[test]
fn a_lock_is_passed_on_once_the_state_of_its_lease_is_known() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    scene.rest();
    scene.lease.becomes(Ready::NotYet);
    assert_eq!(scene.give_back(), (vec![], 0));
    assert_eq!(scene.line.rouse(), Rouse::Wake);
    let agenda = scene.line.agenda(scene.now);
    assert!(matches!(agenda, Agenda::Sleep { kept, .. } if matches!(kept[..], [Kept { is_open: true, .. }])));
    assert_eq!(grants(&scene.line.serve(scene.now)), []);
    scene.lease.becomes(Ready::Now);
    assert_eq!(grants(&scene.line.serve(scene.now)), [(2, 1)]);
}

#[test]
fn a_node_that_may_never_be_passed_on_leaves_and_the_waiter_enters_again() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    scene.lease.becomes(Ready::Never);
    assert_eq!(scene.give_back(), (vec![], 1));
    scene.enter(Exclusive);
    assert_eq!(scene.head(), [(2, 0)]);
}

#[test]
fn a_lost_node_leaves_and_later_events_of_it_change_nothing() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    let lost = scene.tenancy;
    assert!(scene.line.lost(lost).is_some());
    assert!(scene.line.lost(lost).is_none());
    assert_eq!(scene.give_back(), (vec![], 0));
    scene.enter(Exclusive);
    assert_eq!(scene.head(), [(2, 0)]);
    assert_eq!(grants(&scene.line.given_back(lost, scene.now)), []);
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
    assert_eq!(scene.line.rouse(), Rouse::Wake);
    assert!(matches!(scene.line.agenda(scene.now), Agenda::Withdraw));
    assert!(matches!(scene.line.agenda(scene.now), Agenda::Sleep { .. }));
    assert_eq!(scene.attempt(Exclusive), Ok(vec![]), "a node that leaves refuses nobody");
    scene.rest();
    assert!(scene.line.ended().is_empty());
    scene.enter(Exclusive);
}

#[test]
fn a_contender_of_the_other_side_than_the_first_call_is_withdrawn() {
    let mut scene = Scene::new();
    scene.wait(Exclusive);
    scene.wait(Shared);
    scene.enter(Exclusive);
    scene.rest();
    scene.gone(1);
    assert_eq!(scene.line.rouse(), Rouse::Wake);
    assert!(matches!(scene.line.agenda(scene.now), Agenda::Withdraw));
    scene.line.ended();
    scene.enter(Shared);
}

#[test]
fn all_calls_in_line_get_an_error_and_a_closed_line_takes_no_more() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    scene.wait(Shared);
    assert_eq!(scene.line.refused().len(), 2);
    assert_eq!(scene.line.waiting(), 0);
    scene.wait(Exclusive);
    assert_eq!(scene.line.close().len(), 1);
    assert_eq!(scene.attempt(Exclusive), Err(Turned::Closed));
    assert_eq!(scene.give_back(), (vec![], 0));
    assert!(matches!(scene.line.agenda(scene.now), Agenda::Leave(_)));
}

#[test]
fn a_task_that_watches_a_node_wakes_when_it_leaves() {
    let mut scene = Scene::held(Shared);
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    scene.rest();
    assert_eq!(scene.give_back(), (vec![], 1));
    assert_eq!(scene.line.rouse(), Rouse::Wake);
    assert!(matches!(scene.line.agenda(scene.now), Agenda::Sleep { kept, .. } if kept.is_empty()));
}

#[test]
fn a_call_whose_caller_has_a_lost_grant_comes_back_to_the_front() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    scene.line.lost(scene.tenancy);
    let again =
        Call { id: CallId(1), side: Exclusive, manner: Manner::Wait, deadline: None, caller: Some(()) };
    assert_eq!(grants(&scene.line.arrive(again, scene.now).unwrap()), []);
    scene.enter(Exclusive);
    assert_eq!(scene.head(), [(1, 0)]);
    assert_eq!(scene.give_back().0, [(2, 1)]);
}

#[test]
fn a_line_whose_task_ended_early_leaves_the_lock_to_its_holder_and_has_another_task_for_later_calls() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    let (calls, leases) = scene.line.abandon();
    assert_eq!((calls.len(), leases.len()), (1, 1));
    assert_eq!(scene.give_back(), (vec![], 0));
    assert_eq!(scene.line.rouse(), Rouse::Nobody);
    scene.wait(Exclusive);
    assert_eq!(scene.line.rouse(), Rouse::Start);
}

#[test]
fn a_grant_has_its_claim_to_the_lease_before_the_line_gives_up_its_own() {
    let mut scene = Scene::new();
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    let lease = Lease::new();
    let served = scene.line.headed(lease.clone(), scene.now);
    assert_eq!(lease.claims(), 3, "this one, that of the line and that of the grant");
    drop(scene.line.abandon());
    assert_eq!(lease.claims(), 2);
    drop(served);
}
