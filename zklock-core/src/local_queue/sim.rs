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
use setup::{BOUNDED, Choice, LOCK, Pace, READ, Setup, TRY, TRY_READ};
use world::World;

const MUTEX: &[Choice] = &[Choice::Leave, Choice::Write];
const ALL_CHOICES: &[Choice] = &[Choice::Leave, Choice::Write, Choice::Downgrade];

const PLAIN: Setup =
    Setup { permits: None, calls: [&[], &[]], foreigner: None, faults: 0, pace: Pace::Prompt, choices: &[] };

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
            let mut next = world.after(step);
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
        Setup {
            calls: [&[LOCK, READ, READ], &[LOCK, READ, READ]],
            ..PLAIN
        }, 300_000;
        small Setup {
            calls: [&[LOCK, READ], &[LOCK, READ]],
            ..PLAIN
        }, 5_000;
    calls_that_wait_try_leave_and_write_exclude_each_other_whenever_tasks_run:
        Setup {
            calls: [&[LOCK, TRY], &[BOUNDED]],
            pace: Pace::Any,
            choices: MUTEX,
            ..PLAIN
        }, 300_000;
        small Setup {
            calls: [&[TRY], &[BOUNDED]],
            pace: Pace::Any,
            choices: &[Choice::Write],
            ..PLAIN
        }, 6_000;
    a_mutex_survives_any_fault_at_any_step:
        Setup {
            calls: [&[LOCK, LOCK, BOUNDED], &[LOCK]],
            choices: MUTEX,
            faults: 1,
            ..PLAIN
        }, 450_000;
        small Setup {
            calls: [&[LOCK, LOCK], &[LOCK]],
            choices: &[Choice::Leave],
            faults: 1,
            ..PLAIN
        }, 10_000;
    a_mutex_survives_any_two_faults:
        Setup {
            calls: [&[LOCK, TRY], &[LOCK]],
            choices: &[Choice::Write],
            faults: 2,
            ..PLAIN
        }, 150_000;
        small Setup {
            calls: [&[LOCK, TRY], &[]],
            choices: &[Choice::Write],
            faults: 2,
            ..PLAIN
        }, 7_000;
    readers_and_writers_leave_write_and_downgrade:
        Setup {
            calls: [&[LOCK, READ, READ], &[READ]],
            choices: ALL_CHOICES,
            ..PLAIN
        }, 90_000;
        small Setup {
            calls: [&[LOCK, READ], &[READ]],
            choices: ALL_CHOICES,
            ..PLAIN
        }, 8_000;
    a_read_write_lock_survives_any_fault_at_any_step:
        Setup {
            calls: [&[LOCK, READ], &[READ]],
            choices: &[Choice::Write, Choice::Downgrade],
            faults: 1,
            ..PLAIN
        }, 5_000;
        small Setup {
            calls: [&[LOCK], &[READ]],
            choices: &[Choice::Write, Choice::Downgrade],
            faults: 1,
            ..PLAIN
        }, 7_000;
    tries_and_downgrades_beside_readers_survive_any_fault:
        Setup {
            calls: [&[LOCK, READ, TRY_READ], &[]],
            foreigner: Some(Mode::Exclusive),
            choices: &[Choice::Write, Choice::Downgrade],
            faults: 1,
            ..PLAIN
        }, 5_000;
        small Setup {
            calls: [&[LOCK, TRY_READ], &[]],
            foreigner: Some(Mode::Exclusive),
            choices: &[Choice::Downgrade],
            faults: 1,
            ..PLAIN
        }, 7_000;
    readers_of_another_library_are_let_in_whatever_fails:
        Setup {
            calls: [&[LOCK, READ, READ], &[]],
            foreigner: Some(Mode::Shared),
            choices: &[Choice::Leave, Choice::Downgrade],
            faults: 1,
            ..PLAIN
        }, 200_000;
        small Setup {
            calls: [&[LOCK, READ], &[]],
            foreigner: Some(Mode::Shared),
            choices: &[Choice::Downgrade],
            faults: 1,
            ..PLAIN
        }, 12_000;
    calls_of_two_processes_share_two_permits:
        Setup {
            permits: Some(2),
            calls: [&[LOCK, LOCK, BOUNDED], &[LOCK, TRY]],
            choices: &[Choice::Leave],
            ..PLAIN
        }, 5_000;
        small Setup {
            permits: Some(2),
            calls: [&[LOCK, LOCK, LOCK], &[LOCK]],
            ..PLAIN
        }, 1_000;
    permits_survive_any_fault_at_any_step:
        Setup {
            permits: Some(2),
            calls: [&[LOCK, LOCK, LOCK], &[LOCK]],
            choices: MUTEX,
            faults: 1,
            ..PLAIN
        }, 5_000;
        small Setup {
            permits: Some(2),
            calls: [&[LOCK, LOCK, LOCK], &[]],
            choices: &[Choice::Write],
            faults: 1,
            ..PLAIN
        }, 15_000;
    permits_are_taken_and_tried_whenever_tasks_run:
        Setup {
            permits: Some(2),
            calls: [&[LOCK, LOCK, TRY], &[LOCK]],
            pace: Pace::Any,
            choices: &[Choice::Leave],
            ..PLAIN
        }, 5_000;
        small Setup {
            permits: Some(1),
            calls: [&[LOCK, TRY], &[]],
            pace: Pace::Any,
            choices: &[Choice::Leave],
            ..PLAIN
        }, 100;
    a_read_write_lock_is_shared_whenever_tasks_run:
        Setup {
            calls: [&[LOCK, READ], &[READ]],
            pace: Pace::Any,
            choices: &[Choice::Downgrade],
            ..PLAIN
        }, 50_000;
        small Setup {
            calls: [&[LOCK], &[READ]],
            pace: Pace::Any,
            choices: &[Choice::Downgrade],
            ..PLAIN
        }, 5_000;
}

#[test]
fn three_calls_of_each_of_two_processes_take_turns() {
    const SETUP: &Setup = &Setup { calls: [&[LOCK, LOCK, LOCK], &[LOCK, LOCK, LOCK]], ..PLAIN };
    check(SETUP, 5_000);
}

#[test]
fn calls_of_one_process_leave_and_write_whenever_tasks_run() {
    const SETUP: &Setup =
        &Setup { calls: [&[LOCK, BOUNDED], &[]], pace: Pace::Any, choices: MUTEX, faults: 1, ..PLAIN };
    check(SETUP, 4_000);
}

#[test]
fn no_writer_of_one_process_follows_a_downgrade_under_its_node() {
    const SETUP: &Setup =
        &Setup { calls: [&[LOCK, LOCK], &[]], choices: &[Choice::Downgrade], faults: 1, ..PLAIN };
    check(SETUP, 1_000);
}
