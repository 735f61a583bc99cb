//! The bounds of a turn.

use super::*;
use crate::token::MAX_GRANTS;

#[test]
fn while_others_wait_a_turn_ends_after_64_grants_of_which_the_present_holders_is_the_first() {
    let mut scene = Scene::held(Exclusive);
    for _ in 0..100 {
        scene.give_back();
        assert_eq!(scene.wait(Exclusive).len(), 1);
    }
    scene.now += Duration::from_millis(1);
    scene.claim.is_contended_since(scene.now);
    for _ in 1..64 {
        assert_eq!(scene.give_back(), (vec![], 0));
        assert_eq!(scene.wait(Exclusive).len(), 1);
    }
    assert_eq!(scene.wait(Exclusive), []);
    assert_eq!(scene.give_back(), (vec![], 1));
}

#[test]
fn while_others_wait_a_turn_ends_after_the_bound_of_time_and_alone_never() {
    let mut scene = Scene::held(Exclusive);
    scene.now += 100 * WITHIN;
    scene.give_back();
    assert_eq!(scene.wait(Exclusive).len(), 1);
    scene.claim.is_contended_since(scene.now);
    scene.now += WITHIN - Duration::from_nanos(1);
    scene.give_back();
    assert_eq!(scene.wait(Exclusive).len(), 1);
    scene.now += Duration::from_nanos(1);
    scene.wait(Exclusive);
    assert_eq!(scene.give_back(), (vec![], 1));
}

#[test]
fn the_time_of_a_turn_begins_with_its_first_grant() {
    let mut scene = Scene::new();
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    let claim = Claim::new();
    claim.is_contended_since(scene.now);
    claim.becomes(Readiness::Pending);
    assert_eq!(grants(&scene.state.headed(claim.clone(), scene.now)), []);
    scene.node = NodeId(1);
    scene.now += 2 * WITHIN;
    claim.becomes(Readiness::Ready);
    assert_eq!(grants(&scene.state.serve(scene.now)), [(1, 0)]);
    scene.wait(Exclusive);
    assert_eq!(scene.give_back(), (vec![(2, 1)], 0));
    scene.now += WITHIN;
    scene.wait(Exclusive);
    assert_eq!(scene.give_back(), (vec![], 1));
}

#[test]
fn no_time_at_all_hands_over_after_each_grant_while_others_wait() {
    let mut scene = Scene::within(64, Duration::ZERO);
    scene.wait(Exclusive);
    scene.wait(Exclusive);
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    assert_eq!(scene.head(), [(1, 0)]);
    assert_eq!(scene.give_back(), (vec![(2, 1)], 0));
    scene.claim.is_contended_since(scene.now);
    assert_eq!(scene.give_back(), (vec![], 1));
    scene.enter(Exclusive);
    let contended_since = scene.now;
    assert_eq!(scene.head(), [(3, 0)]);
    scene.claim.is_contended_since(contended_since);
    scene.wait(Exclusive);
    assert_eq!(scene.give_back(), (vec![], 1));
}

#[test]
fn a_node_whose_numbers_are_used_up_leaves() {
    let mut scene = Scene::held(Shared);
    scene.state.held.first_mut().unwrap().handoffs = MAX_GRANTS - 1;
    assert_eq!(scene.wait(Shared), [(2, MAX_GRANTS - 1)]);
    assert_eq!(scene.wait(Shared), []);
    scene.enter(Shared);
    // Nor does a batch go on.
    let mut scene = Scene::held(Exclusive);
    scene.state.held.first_mut().unwrap().handoffs = MAX_GRANTS - 1;
    scene.wait(Shared);
    scene.wait(Shared);
    assert_eq!(scene.give_back().0, [(2, MAX_GRANTS - 1)]);
    assert!(matches!(scene.state.next(scene.now), Need::Downgrade(_)));
}
