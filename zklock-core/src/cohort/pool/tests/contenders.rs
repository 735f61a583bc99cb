//! Contenders that enter and leave with the calls that wait.

use super::*;

#[test]
fn as_many_contenders_enter_as_calls_wait_up_to_eight() {
    let mut scene = Scene::new();
    for calls in 1..=10 {
        scene.wait();
        let rouse = scene.pool.rouse();
        match calls {
            1 => assert_eq!(rouse, Rouse::Start),
            2..=8 => assert_eq!(rouse, Rouse::Wake),
            _ => assert_eq!(rouse, Rouse::Nobody),
        }
        let expected: Vec<u64> = (calls..=calls).filter(|calls| *calls <= 8).collect();
        assert_eq!(scene.enter(), expected);
    }
    assert_eq!(scene.head(3, &Lease::new()), [(1, 1, 0)], "the first call gets what comes first");
    assert_eq!(scene.enter(), [9]);
}

#[test]
fn there_are_never_more_contenders_than_permits() {
    let mut scene = Scene::new();
    scene.pool = Pool::new(Queueing::new(TURNS, WITHIN), 1);
    scene.wait();
    scene.wait();
    assert_eq!(scene.enter(), [1]);
}

#[test]
fn contenders_of_calls_that_gave_up_leave_at_once_and_the_youngest_first() {
    let mut scene = Scene::new();
    (0..3).for_each(|_| drop(scene.wait()));
    assert_eq!(scene.enter(), [1, 2, 3]);
    drop(scene.pool.gone(CallId(1), scene.now));
    assert_eq!(scene.pool.rouse(), Rouse::Wake);
    assert_eq!(scene.withdraw(), [3]);
    drop(scene.pool.gone(CallId(2), scene.now));
    assert_eq!(scene.withdraw(), [2]);
    scene.wait();
    assert_eq!(scene.enter(), [4]);
    for contender in 1..=4 {
        scene.pool.ended(ContenderId(contender));
    }
    assert_eq!(scene.enter(), [5, 6]);
}

#[test]
fn a_contender_whose_call_was_served_otherwise_stays_for_a_moment() {
    let (mut scene, _) = Scene::held();
    scene.wait();
    assert_eq!(scene.enter(), [2]);
    assert_eq!(scene.give_back(1).0, [(2, 1, 1)]);
    assert_eq!(scene.pool.rouse(), Rouse::Wake);
    let Agenda::Sleep { until: Some(until), .. } = scene.pool.agenda(scene.now) else { panic!("it stays") };
    assert!(scene.pool.has_spare());
    scene.now += LATER;
    assert!(until <= scene.now);
    // The call that has just had the permit comes again.
    scene.wait();
    assert_eq!(scene.work(), (vec![], vec![]));
    assert_eq!(scene.give_back(1).0, [(3, 1, 2)]);
    assert_eq!(scene.work(), (vec![], vec![]));
    scene.now += LATER;
    assert_eq!(scene.withdraw(), [2]);
}

#[test]
fn no_contender_stays_when_the_last_permit_is_given_back() {
    let (mut scene, _) = Scene::held();
    scene.wait();
    assert_eq!(scene.enter(), [2]);
    assert_eq!(scene.give_back(1).0, [(2, 1, 1)]);
    assert_eq!(scene.work(), (vec![], vec![]));
    assert_eq!(scene.give_back(1), (vec![], 1));
    assert_eq!(scene.pool.rouse(), Rouse::Wake);
    assert_eq!(scene.withdraw(), [2]);
}

#[test]
fn calls_know_how_many_are_in_front_once_a_contender_is_in_the_queue() {
    let mut scene = Scene::new();
    (0..3).for_each(|_| drop(scene.wait()));
    scene.enter();
    let ahead = |scene: &mut Scene| scene.pool.queued().map(|(ahead, ())| ahead).collect::<Vec<_>>();
    assert_eq!((scene.pool.is_queued(), ahead(&mut scene)), (false, vec![]));
    scene.pool.behind(ContenderId(1), Some(4));
    assert_eq!((scene.pool.is_queued(), ahead(&mut scene)), (true, vec![4, 5, 6]));
    scene.pool.behind(ContenderId(1), None);
    assert_eq!((scene.pool.is_queued(), ahead(&mut scene)), (false, vec![]));
}

#[test]
fn a_deadline_wakes_the_task_which_answers_the_call() {
    let mut scene = Scene::new();
    let deadline = Some(scene.now + WITHIN);
    scene.wait();
    scene.enter();
    let id = scene.pool.id();
    let call = Call { id, side: Side::Exclusive, manner: Manner::Wait, deadline, caller: Some(()) };
    drop(scene.pool.arrive(call, scene.now));
    assert_eq!(scene.pool.rouse(), Rouse::Wake);
    assert_eq!(scene.enter(), [2]);
    assert!(scene.pool.expire(scene.now).is_empty());
    scene.now += WITHIN;
    assert_eq!(scene.pool.expire(scene.now).len(), 1);
    assert_eq!(scene.withdraw(), [2]);
}
