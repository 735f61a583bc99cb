//! Permits that go from one call to the next, and the bounds of that.

use super::*;

#[test]
fn a_permit_goes_to_the_first_call_in_line_and_then_leaves() {
    let (mut scene, lease) = Scene::held();
    assert_eq!(scene.pool.rouse(), Rouse::Nobody);
    scene.wait();
    scene.wait();
    assert_eq!(scene.pool.rouse(), Rouse::Start);
    assert_eq!(scene.enter(), [2, 3], "what the client holds keeps no call from contending");
    assert_eq!(scene.give_back(1), (vec![(2, 1, 1)], 0));
    assert_eq!(scene.give_back(1), (vec![(3, 1, 2)], 0));
    assert_eq!(lease.claims(), 2, "this one, and that of the pool");
    assert_eq!(scene.give_back(1), (vec![], 1));
    assert_eq!(lease.claims(), 1);
    assert_eq!(scene.give_back(1), (vec![], 0), "a permit that has left is not given back again");
}

#[test]
fn a_permit_is_passed_on_64_times_at_most_although_nobody_is_seen_to_wait() {
    let (mut scene, _) = Scene::held();
    (0..TURNS).for_each(|_| drop(scene.wait()));
    for grant in 1..TURNS {
        assert_eq!(scene.give_back(1), (vec![(u64::from(grant) + 1, 1, grant)], 0));
    }
    assert_eq!(scene.give_back(1), (vec![], 1));
    assert_eq!(scene.pool.waiting(), 1);
}

#[test]
fn the_bound_of_time_begins_with_the_first_grant() {
    let (mut scene, _) = Scene::held();
    scene.wait();
    scene.wait();
    scene.now += WITHIN - Duration::from_nanos(1);
    assert_eq!(scene.give_back(1).0, [(2, 1, 1)]);
    scene.now += Duration::from_nanos(1);
    assert_eq!(scene.give_back(1), (vec![], 1));
}

#[test]
fn the_bounds_of_each_permit_are_its_own() {
    let (mut scene, _) = Scene::held();
    (0..2).for_each(|_| drop(scene.wait()));
    assert_eq!(scene.enter(), [2, 3]);
    scene.now += WITHIN;
    assert_eq!(scene.head(2, &Lease::new()), [(2, 2, 0)]);
    assert_eq!(scene.give_back(1), (vec![], 1));
    assert_eq!(scene.give_back(2).0, [(3, 2, 1)]);
}

#[test]
fn a_permit_whose_state_is_not_known_waits_and_another_one_does_not() {
    let (mut scene, lease) = Scene::held();
    let other = Lease::new();
    scene.wait();
    assert_eq!(scene.enter(), [2]);
    assert_eq!(scene.head(2, &other), [(2, 2, 0)]);
    (0..2).for_each(|_| drop(scene.wait()));
    assert_eq!(scene.enter(), [3, 4]);
    lease.becomes(Ready::NotYet);
    assert_eq!(scene.give_back(1), (vec![], 0));
    assert!(scene.pool.is_vacant(TenancyId(1)));
    assert_eq!(scene.pool.rouse(), Rouse::Wake);
    let parked = vec![TenancyId(1)];
    assert_eq!(scene.pool.agenda(scene.now), Agenda::Sleep { until: None, parked });
    assert_eq!(scene.give_back(2).0, [(3, 2, 1)]);
    assert_eq!(grants(&scene.pool.serve(scene.now)), []);
    lease.becomes(Ready::Now);
    assert_eq!(grants(&scene.pool.serve(scene.now)), [(4, 1, 1)]);
    assert!(!scene.pool.is_vacant(TenancyId(1)));
}

#[test]
fn a_write_under_way_delays_the_next_holder_and_a_lost_permit_has_none() {
    let (mut scene, lease) = Scene::held();
    scene.wait();
    lease.writes(true);
    assert_eq!(scene.give_back(1), (vec![], 0));
    lease.writes(false);
    assert_eq!(grants(&scene.pool.serve(scene.now)), [(2, 1, 1)]);
    scene.wait();
    lease.becomes(Ready::Never);
    assert_eq!(scene.give_back(1), (vec![], 1));
    assert!(!scene.pool.is_kept(TenancyId(1)));
}

#[test]
fn a_parked_permit_leaves_with_the_last_call_that_waits() {
    let (mut scene, lease) = Scene::held();
    scene.wait();
    lease.becomes(Ready::NotYet);
    assert_eq!(scene.give_back(1), (vec![], 0));
    let served = scene.pool.gone(CallId(2), scene.now);
    assert_eq!((served.grants.len(), served.left.len()), (0, 1));
}
