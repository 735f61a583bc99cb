//! An exhaustive simulation: every schedule of a few calls in two processes, with every fault at every step.
//!
//! The world consists of the lines of two processes, of their tasks, of the nodes on the servers, and of what
//! each client knows of its nodes. From each state, every event that could come next is tried. A budget limits
//! the number of faults, so the state space is finite and is explored completely.

mod check;
mod choice;
mod effect;
mod node;
mod recovery;
mod setup;
mod step;
mod task;
mod trail;
mod world;

use std::collections::HashSet;

use crate::local_queue::held::Mode;

use recovery::LONGEST;
use setup::Choice::{Downgrade, Leave, Write};
use setup::{BOUNDED, LOCK, Pace, READ, Setup, TRY, TRY_READ, lock, permits};
use world::World;

impl World {
    /// Performs what clients do promptly, if they are prompt.
    fn settle(&mut self) {
        for _ in 0..LONGEST {
            let step = self.steps().into_iter().find(|step| step.is_work());
            match step.filter(|_| self.setup.pace == Pace::Prompt) {
                Some(step) => self.take(step),
                None => return,
            }
        }
        panic!("the clients do not come to rest");
    }
}

/// Explores every reachable state and returns their number. A state is known by its fingerprint of 64 bits.
fn explore(setup: &'static Setup) -> usize {
    let mut start = World::new(setup);
    start.settle();
    let mut seen: HashSet<_> = HashSet::from_iter([start.fingerprint()]);
    let mut recovering = HashSet::default();
    let mut open = vec![start];
    while let Some(world) = open.pop() {
        for step in world.steps() {
            let mut next = world.clone();
            next.take(step);
            next.settle();
            if seen.insert(next.fingerprint()) {
                open.push(next);
            }
        }
        world.check_progress(&mut recovering);
    }
    seen.len()
}

/// Fails if the simulation reaches fewer states than the scene has.
fn check(setup: &'static Setup, least: usize) {
    let states = explore(setup);
    assert!(states > least, "only {states} states were reached");
}

/// Each scene has a deep form, for the soak, and a small one, each with the number of states that it reaches at least.
macro_rules! scenes {
    ($($name:ident: $deep:expr, $most:literal; small $small:expr, $few:literal;)*) => {$(
        #[test]
        fn $name() {
            const SETUP: &Setup = &if cfg!(soak) { $deep } else { $small };
            let least = if cfg!(soak) { $most } else { $few };
            check(SETUP, least);
        }
    )*};
}

scenes! {
    calls_of_two_processes_share_a_read_write_lock:
        lock([&[LOCK, READ, READ], &[LOCK, READ, READ]]), 280_000;
        small lock([&[LOCK, READ], &[LOCK, READ]]), 5_000;
    calls_that_wait_try_leave_and_write_exclude_each_other_whenever_tasks_run:
        lock([&[LOCK, TRY], &[BOUNDED]]).may(&[Leave, Write]).at_any_pace(), 450_000;
        small lock([&[TRY], &[BOUNDED]]).may(&[Write]).at_any_pace(), 6_000;
    a_mutex_survives_any_fault_at_any_step:
        lock([&[LOCK, LOCK, BOUNDED], &[LOCK]]).may(&[Leave, Write]).faults(1), 550_000;
        small lock([&[LOCK, LOCK], &[LOCK]]).may(&[Leave]).faults(1), 12_000;
    a_mutex_survives_any_two_faults:
        lock([&[LOCK, TRY], &[LOCK]]).may(&[Write]).faults(2), 150_000;
        small lock([&[LOCK, TRY], &[]]).may(&[Write]).faults(2), 7_000;
    readers_and_writers_leave_write_and_downgrade:
        lock([&[LOCK, READ, READ], &[READ]]).may(&[Leave, Write, Downgrade]), 90_000;
        small lock([&[LOCK, READ], &[READ]]).may(&[Leave, Write, Downgrade]), 8_000;
    no_writer_follows_a_downgrade_under_one_node:
        lock([&[LOCK, LOCK, READ], &[]]).may(&[Write, Downgrade]).faults(1), 30_000;
        small lock([&[LOCK, LOCK], &[]]).may(&[Downgrade]).faults(1), 1_000;
    a_read_write_lock_survives_any_fault_at_any_step:
        lock([&[LOCK, READ], &[READ]]).may(&[Write, Downgrade]).faults(1), 120_000;
        small lock([&[LOCK], &[READ]]).may(&[Write, Downgrade]).faults(1), 7_000;
    tries_and_downgrades_beside_readers_survive_any_fault:
        lock([&[LOCK, READ, TRY_READ], &[]]).beside(Mode::Exclusive).may(&[Write, Downgrade]).faults(1), 300_000;
        small lock([&[LOCK, TRY_READ], &[]]).beside(Mode::Exclusive).may(&[Downgrade]).faults(1), 7_000;
    readers_of_another_library_are_let_in_whatever_fails:
        lock([&[LOCK, READ, READ], &[]]).beside(Mode::Shared).may(&[Leave, Downgrade]).faults(1), 250_000;
        small lock([&[LOCK, READ], &[]]).beside(Mode::Shared).may(&[Downgrade]).faults(1), 14_000;
    calls_of_two_processes_share_two_permits:
        permits(2, [&[LOCK, LOCK, BOUNDED], &[LOCK, TRY]]).may(&[Leave]), 900_000;
        small permits(2, [&[LOCK, LOCK, LOCK], &[LOCK]]), 5_000;
    permits_survive_any_fault_at_any_step:
        permits(2, [&[LOCK, LOCK, LOCK], &[LOCK]]).may(&[Leave, Write]).faults(1), 1_100_000;
        small permits(2, [&[LOCK, LOCK, LOCK], &[]]).may(&[Write]).faults(1), 19_000;
    permits_are_taken_and_tried_whenever_tasks_run:
        permits(2, [&[LOCK, LOCK, TRY], &[LOCK]]).may(&[Leave]).at_any_pace(), 15_000_000;
        small permits(1, [&[LOCK, TRY], &[]]).may(&[Leave]).at_any_pace(), 2_000;
    a_read_write_lock_is_shared_whenever_tasks_run:
        lock([&[LOCK, READ], &[READ]]).may(&[Downgrade]).at_any_pace(), 95_000;
        small lock([&[LOCK], &[READ]]).may(&[Downgrade]).at_any_pace(), 5_000;
}

#[test]
fn three_calls_of_each_of_two_processes_take_turns() {
    const SETUP: &Setup = &lock([&[LOCK, LOCK, LOCK], &[LOCK, LOCK, LOCK]]);
    check(SETUP, 5_000);
}

#[test]
fn calls_of_one_process_leave_and_write_whenever_tasks_run() {
    const SETUP: &Setup = &lock([&[LOCK, BOUNDED], &[]]).may(&[Leave, Write]).faults(1).at_any_pace();
    check(SETUP, 50_000);
}

#[test]
fn tries_are_refused_behind_others_alone() {
    const WRITERS: &Setup = &lock([&[LOCK, TRY], &[]]).beside(Mode::Shared).may(&[Leave]).at_any_pace();
    check(WRITERS, 9_000);
    const READERS: &Setup = &lock([&[READ, TRY_READ], &[LOCK]]).may(&[Leave]);
    check(READERS, 1_500);
    const PERMITS: &Setup = &permits(1, [&[TRY, TRY], &[LOCK]]).may(&[Leave]);
    check(PERMITS, 600);
}
