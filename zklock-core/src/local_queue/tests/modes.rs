//! Readers and writers.

use super::*;

#[test]
fn a_write_under_way_keeps_all_out() {
    let mut scene = Scene::held(Exclusive);
    scene.claim.becomes(Readiness::Pending);
    scene.wait(Shared);
    assert_eq!(scene.give_back(), (vec![], 0));
    scene.claim.becomes(Readiness::Ready);
    assert_eq!(grants(&scene.state.serve(scene.now)), [(2, 1)]);
    scene.claim.becomes(Readiness::Pending);
    assert_eq!(scene.wait(Shared), [], "beside a reader's write");
    scene.wait(Exclusive);
    scene.claim.becomes(Readiness::Ready);
    assert_eq!(grants(&scene.state.serve(scene.now)), [(3, 2)]);
    scene.claim.becomes(Readiness::Pending);
    scene.give_back();
    assert_eq!(scene.give_back(), (vec![], 0));
    scene.claim.becomes(Readiness::Ready);
    assert_eq!(grants(&scene.state.serve(scene.now)), [(4, 3)]);
}

#[test]
fn readers_join_a_downgraded_writer_only_after_its_writes() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Shared);
    scene.claim.becomes(Readiness::Pending);
    assert_eq!(grants(&scene.state.downgraded(scene.node, scene.now)), []);
    assert_eq!(scene.attempt(Shared), Ok(vec![]), "a reader in line keeps no reader out");
    scene.claim.becomes(Readiness::Ready);
    assert_eq!(grants(&scene.state.serve(scene.now)), [(2, 1), (3, 2)]);
}

#[test]
fn readers_join_readers_unless_a_writer_is_in_front_and_form_batches_that_count_once() {
    let mut scene = Scene::held(Exclusive);
    scene.claim.is_contended_since(scene.now);
    for mode in [Shared, Shared, Exclusive, Shared] {
        assert_eq!(scene.wait(mode), []);
    }
    assert_eq!(scene.give_back().0, [(2, 1), (3, 2)]);
    assert_eq!(scene.state.held.first().unwrap().grants, 2);
    assert_eq!(scene.wait(Shared), []);
    assert_eq!(scene.give_back().0, []);
    assert_eq!(scene.give_back().0, [(4, 3)]);
    assert_eq!(scene.give_back().0, [(5, 4), (6, 5)]);
    assert_eq!(scene.wait(Shared), [(7, 6)]);
    assert_eq!(scene.state.held.first().unwrap().grants, 5);
}

#[test]
fn a_writer_behind_local_readers_enters_at_once_and_never_gets_their_node() {
    let mut scene = Scene::held(Shared);
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    assert_eq!(scene.wait(Shared), []);
    assert_eq!(scene.give_back(), (vec![], 1));
    assert_eq!(scene.head(), [(2, 0)]);
}

#[test]
fn a_reader_beyond_the_bound_enters_beside_the_readers_that_it_may_not_join() {
    let mut scene = Scene::held(Shared);
    scene.claim.is_contended_since(scene.now);
    scene.now += WITHIN;
    assert_eq!(scene.wait(Shared), []);
    scene.enter(Shared);
    assert_eq!(scene.head(), [(2, 0)]);
    assert_eq!(scene.attempt(Shared), Ok(vec![(3, 1)]));
}

#[test]
fn readers_under_a_writers_node_let_other_clients_readers_in_at_the_bound() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Shared);
    scene.give_back();
    scene.rest();
    scene.claim.is_contended_since(scene.now);
    let until = scene.now + WITHIN;
    assert!(matches!(scene.state.next(scene.now), Need::Wait(_, at) if at == Some(until)));
    scene.now = until;
    scene.downgrade();
    assert_eq!(scene.wait(Shared), []);
    scene.enter(Shared);
}

#[test]
fn a_bound_of_time_beyond_the_range_of_the_clock_is_none() {
    let mut scene = Scene::within(64, Duration::MAX);
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    scene.head();
    scene.claim.is_contended_since(scene.now);
    scene.wait(Shared);
    scene.give_back();
    assert!(matches!(scene.state.next(scene.now), Need::Wait(_, None)));
}

#[test]
fn a_reader_that_may_not_join_under_a_writers_node_makes_it_a_readers() {
    for is_bound in [true, false] {
        let mut scene = Scene::held(Exclusive);
        scene.wait(Shared);
        scene.give_back();
        scene.rest();
        if is_bound {
            scene.claim.is_contended_since(scene.now);
            scene.now += WITHIN;
        } else {
            scene.claim.becomes(Readiness::Over);
        }
        assert_eq!(scene.wait(Shared), []);
        assert_eq!(scene.state.wake(scene.now), Wake::Task);
        scene.downgrade();
        scene.enter(Shared);
    }
}

#[test]
fn no_writer_is_granted_after_a_downgrade_was_ordered() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    assert_eq!(grants(&scene.state.downgraded(scene.node, scene.now)), []);
    scene.enter(Exclusive);
    assert_eq!(scene.give_back(), (vec![], 1));
}

#[test]
fn a_reader_that_does_not_wait_joins_readers_whose_node_is_only_entering() {
    let mut scene = Scene::new();
    scene.wait(Shared);
    scene.enter(Shared);
    assert_eq!(scene.attempt(Shared), Ok(vec![]));
    assert_eq!(scene.attempt(Exclusive), Err(Rejected::Contended));
    assert_eq!(scene.head(), [(1, 0), (2, 1)]);
}

#[test]
fn a_reader_that_does_not_wait_is_refused_behind_a_writer_and_behind_a_contender_in_the_queue() {
    let mut scene = Scene::new();
    scene.wait(Shared);
    scene.enter(Shared);
    scene.wait(Exclusive);
    assert_eq!(scene.attempt(Shared), Err(Rejected::Contended));
    scene.gone(2);
    assert_eq!(scene.attempt(Shared), Ok(vec![]));
    assert_eq!(scene.state.behind(1).len(), 1);
    assert_eq!(scene.attempt(Shared), Err(Rejected::Contended));
}

#[test]
fn a_writer_is_behind_readers_of_its_client_alone_until_its_node_is_behind_others() {
    let mut scene = Scene::held(Shared);
    scene.wait(Exclusive);
    assert!(scene.state.is_behind_own());
    scene.enter(Exclusive);
    assert!(scene.state.is_behind_own(), "the place of its node is not known");
    scene.state.behind(2);
    assert!(scene.state.is_queued() && !scene.state.is_behind_own());
    scene.give_back();
    assert!(!scene.state.is_behind_own(), "nobody holds the lock here");
}

#[test]
fn the_only_reader_of_a_node_that_leaves_is_not_taken_for_one_of_several() {
    let mut scene = Scene::held(Shared);
    scene.claim.becomes(Readiness::Over);
    assert_eq!(scene.wait(Shared), []);
    let leaving =
        |scene: &Scene| scene.state.node(scene.node).map(|held| (held.is_vacant(), held.is_shared()));
    assert_eq!(leaving(&scene), Some((false, false)));
    assert_eq!(grants(&scene.state.given_back(scene.node, scene.now)), []);
    assert_eq!(leaving(&scene), Some((true, false)));
    assert_eq!(scene.left(), 1);
}
