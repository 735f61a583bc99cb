//! Permits: several sets of one client, and the contender for one more.

use super::*;

const WAIT: Entry = Entry { mode: Exclusive, contention: Contention::Wait };
const TRY: Entry = Entry { mode: Exclusive, contention: Contention::Leave };

#[track_caller]
fn enters(scene: &mut Scene, entry: Entry) {
    assert!(matches!(scene.state.next(scene.now), Need::Contend(entered) if entered == entry));
}

/// A line in which a call holds a set, and another one waits.
fn one_holds_and_one_waits(each: u32, most: usize) -> Scene {
    let mut scene = Scene::of(Kind::Permits { each, most: Some(most) });
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    assert_eq!(scene.head(), [(1, 0)]);
    assert_eq!(scene.wait(Exclusive), []);
    scene
}

#[test]
fn one_contender_is_under_way_until_the_client_has_all() {
    let mut scene = one_holds_and_one_waits(1, 2);
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    // Two calls wait, and there is no second contender.
    scene.rest();
    assert_eq!(scene.head(), [(2, 0)]);
    // The client has all that there are.
    scene.rest();
    assert!(scene.state.is_behind_own() && scene.state.is_queued());
}

#[test]
fn a_permit_goes_to_the_next_call_and_leaves_when_nobody_waits() {
    let mut scene = one_holds_and_one_waits(1, 2);
    scene.enter(Exclusive);
    assert_eq!(scene.give_back(), (vec![(2, 1)], 0));
    // No call waits for the contender.
    assert!(matches!(scene.state.next(scene.now), Need::Withdraw));
    assert_eq!(scene.give_back(), (vec![], 1));
    scene.state.withdrawn();
    scene.rest();
}

#[test]
fn a_set_is_passed_on_when_all_of_it_is_back() {
    let mut scene = one_holds_and_one_waits(2, 1);
    assert_eq!(scene.give_back(), (vec![], 0));
    assert!(!scene.state.node(scene.node).unwrap().is_read());
    assert_eq!(scene.give_back(), (vec![(2, 1)], 0));
    assert_eq!(scene.give_back(), (vec![], 0));
    assert_eq!(scene.give_back(), (vec![], 1));
}

#[test]
fn a_turn_is_bounded_from_its_first_grant_on() {
    let mut scene = one_holds_and_one_waits(1, 1);
    scene.now += WITHIN;
    assert_eq!(scene.give_back(), (vec![], 1));
    scene.enter(Exclusive);
    assert_eq!(scene.head(), [(2, 0)]);
}

#[test]
fn a_permit_that_is_lost_makes_room_for_another_one() {
    let mut scene = one_holds_and_one_waits(1, 1);
    let need = scene.state.next(scene.now);
    let Need::Wait(watched, _) = need else { panic!("{need:?}") };
    assert_eq!(watched.len(), 1);
    scene.claim.becomes(Readiness::Lost);
    assert_eq!(grants(&scene.state.serve(scene.now)), []);
    assert_eq!(scene.left(), 1);
    scene.enter(Exclusive);
    assert_eq!(scene.head(), [(2, 0)]);
    // The holder of the lost one gives it back.
    scene.node = watched[0].node;
    assert_eq!(scene.give_back(), (vec![], 0));
}

#[test]
fn tries_ask_the_servers_together_unless_a_call_waits() {
    let mut scene = Scene::of(Kind::Permits { each: 1, most: Some(3) });
    assert_eq!((scene.attempt(Exclusive), scene.attempt(Exclusive)), (Ok(vec![]), Ok(vec![])));
    enters(&mut scene, TRY);
    // Others at the gate do not tell whether there are permits.
    assert!(scene.state.behind(1).is_empty());
    assert_eq!(scene.head(), [(1, 0)]);
    enters(&mut scene, TRY);
    assert_eq!(scene.state.contended().len(), 1);
    scene.wait(Exclusive);
    assert_eq!(scene.attempt(Exclusive), Err(Rejected::Contended));
    scene.enter(Exclusive);
}

#[test]
fn a_try_does_not_use_the_contender_of_a_call_that_has_left() {
    let mut scene = Scene::of(Kind::Permits { each: 1, most: None });
    scene.wait(Exclusive);
    enters(&mut scene, WAIT);
    scene.gone(1);
    assert_eq!(scene.attempt(Exclusive), Ok(vec![]));
    assert!(matches!(scene.state.next(scene.now), Need::Withdraw));
    scene.rest();
    // It is not refused with the contender.
    scene.state.withdrawn();
    enters(&mut scene, TRY);
    assert_eq!(scene.head(), [(2, 0)]);
}
