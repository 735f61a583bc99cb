//! An exhaustive simulation: every schedule of a few contenders, with every fault at every step.
//!
//! The world consists of the contenders' state machines and of a server, which is the model inside
//! the embedded server. From each state, every event that could come next is tried: a request or
//! its reply is lost or refused, a lost create is applied late, even after the sync that should
//! fence it, an outsider deletes a node or the parent, a session expires or is replaced by one that
//! the client does not know, a caller cancels. A budget limits the number of faults, so the state
//! space is finite and is explored completely. The budget of the soak is greater.

mod check;
mod numbers;
mod perform;
mod recovery;
mod server;
mod step;
mod world;

use std::collections::HashSet;

use self::step::{STEPS, Step};
use self::world::World;
use super::acquisition::Action;
use super::contender::Contender;
use super::predicate::{Predicate, Role};

/// Explores every reachable state and returns their number.
fn explore(predicates: &[Predicate], faults: usize) -> usize {
    let predicates: Vec<_> = predicates.iter().map(std::slice::from_ref).collect();
    explore_rounds(&predicates, faults)
}

/// Explores every reachable state of peers that make several acquisitions each, and returns their number.
fn explore_rounds(predicates: &[&[Predicate]], faults: usize) -> usize {
    explore_steps(STEPS, predicates, faults)
}

/// Explores every state of such peers that is reached by these steps.
fn explore_steps(steps: &[Step], predicates: &[&[Predicate]], faults: usize) -> usize {
    let start = World::new(predicates, faults);
    let mut seen: HashSet<_> = HashSet::from_iter([start.key()]);
    let mut recovering = HashSet::default();
    let mut open = vec![start];
    while let Some(world) = open.pop() {
        world.check_exclusion();
        for index in 0..predicates.len() {
            for next in steps.iter().filter_map(|step| world.after(index, *step)) {
                if seen.insert(next.key()) {
                    open.push(next);
                }
            }
        }
        world.check_progress(&mut recovering);
    }
    seen.len()
}

/// Fails if the simulation has explored less than it can.
#[track_caller]
fn check_states(states: usize, least: usize) {
    assert!(states > least, "only {states} states were reached");
}

#[test]
fn two_contenders_exclude_each_other_and_leave_nothing_under_several_faults() {
    // Two faults are enough for a create that is applied late, although a sync should fence it.
    let (faults, least) = if cfg!(soak) { (4, 100_000) } else { (2, 15_000) };
    check_states(explore(&places([Role::Exclusive; 2]), faults), least);
}

#[test]
fn two_contenders_exclude_each_other_although_servers_replace_their_sessions_unnoticed() {
    let (faults, least) = if cfg!(soak) { (4, 3_000) } else { (3, 3_000) };
    // A node of a session that is not the own one does harm when that session expires as well.
    let is_of_sessions =
        |step: &Step| !step.is_fault() || matches!(step, Step::Expire | Step::ReplaceSession);
    let steps: Vec<_> = STEPS.iter().copied().filter(is_of_sessions).collect();
    let predicate = places([Role::Exclusive]);
    let states = explore_steps(&steps, &[&predicate, &predicate], faults);
    check_states(states, least);
}

#[test]
fn three_contenders_exclude_each_other_and_leave_nothing() {
    let (faults, least) = if cfg!(soak) { (2, 100_000) } else { (0, 2_000) };
    check_states(explore(&places([Role::Exclusive; 3]), faults), least);
}

#[test]
fn the_simulated_queue_comes_to_the_end_of_its_numbers() {
    let predicates = places([Role::Exclusive]);
    let mut world = World::new(&[&predicates[..]; 3], 0);
    for index in [0, 0, 0, 1, 2, 2] {
        assert!(world.take(index, Step::Deliver));
    }
    let names: Vec<_> = world.server.nodes().iter().map(|node| node.name.clone()).collect();
    let sequences: Vec<_> = names.iter().map(|name| Contender::parse(name).unwrap().sequence).collect();
    assert_eq!(sequences.iter().map(ToString::to_string).collect::<Vec<_>>(), ["2147483645", "2147483646"]);
    assert!(world.peers[0].held().is_some());
    assert!(world.peers[2].action.is_none(), "the contender without a unique number has left");
}

#[test]
fn writers_exclude_everybody_and_let_readers_in_under_any_faults() {
    let (faults, least) = if cfg!(soak) { ([3, 2], 100_000) } else { ([1, 1], 10_000) };
    let states = explore(&places([Role::Write, Role::Read]), faults[0])
        + explore(&places([Role::Write; 2]), faults[1]);
    check_states(states, least);
}

#[test]
fn a_reader_and_two_writers_exclude_each_other() {
    let (faults, least) = if cfg!(soak) { (1, 20_000) } else { (0, 6_000) };
    check_states(explore(&places([Role::Read, Role::Write, Role::Write]), faults), least);
}

#[test]
fn contenders_never_hold_more_permits_than_there_are_under_any_faults() {
    let (faults, least) = if cfg!(soak) { ([2, 2], 100_000) } else { ([0, 1], 3_000) };
    let states = explore(&vec![Predicate::Permit { of: 2 }; 3], faults[0])
        + explore(&vec![Predicate::Permit { of: 1 }; 2], faults[1]);
    check_states(states, least);
}

fn places<const N: usize>(roles: [Role; N]) -> [Predicate; N] {
    roles.map(Predicate::place)
}

#[test]
fn mutexes_that_are_taken_again_exclude_each_other_although_parents_are_made_anew() {
    let (faults, least) = if cfg!(soak) { ([2, 1], 20_000) } else { ([1, 0], 8_000) };
    let (twice, once) = (places([Role::Exclusive; 2]), places([Role::Exclusive]));
    let states = explore_rounds(&[&twice, &once], faults[0]) + explore_rounds(&[&twice, &twice], faults[1]);
    check_states(states, least);
}

#[test]
fn writers_that_were_readers_before_exclude_everybody() {
    let (faults, least) = if cfg!(soak) { ([2, 1], 20_000) } else { ([0, 0], 7_000) };
    let (turns, reads) = (places([Role::Read, Role::Write]), places([Role::Read]));
    let back = places([Role::Write, Role::Read]);
    let states = explore_rounds(&[&turns, &reads], faults[0])
        + explore_rounds(&[&back, &back], faults[1])
        + explore_rounds(&[&turns, &back], faults[1]);
    check_states(states, least);
}

#[test]
fn each_role_behind_one_of_each_other_excludes_the_others() {
    let (faults, least) = if cfg!(soak) { (1, 20_000) } else { (0, 1_500) };
    let kinds = [Role::Read, Role::Write];
    let mut states = 0;
    for (first, second) in kinds.into_iter().flat_map(|first| kinds.map(|second| (first, second))) {
        let (again, once) = (places([first, second]), places([second]));
        states += explore_rounds(&[&again, &once], faults);
    }
    check_states(states, least);
}

#[test]
fn a_lock_that_is_taken_again_alone_is_held_without_a_list_until_its_numbers_are_used_up() {
    let predicates = places([Role::Exclusive; 3]);
    let mut world = World::new(&[&predicates], 0);
    // The first create finds no parent.
    for requests in [3, 1] {
        for _ in 0..requests {
            assert!(world.peers[0].held().is_none() && world.take(0, Step::Deliver));
        }
        assert!(world.peers[0].held().is_some());
        assert!(
            world.take(0, Step::Cancel) && world.take(0, Step::Deliver) && world.take(0, Step::EnterAgain)
        );
    }
    assert!(world.take(0, Step::Deliver));
    assert_eq!(world.peers[0].action, Some(Action::List));
}
