//! A simulation: every order of the events of a few calls of two clients, with a fault at every step. The tasks and the
//! callers do their work between two events; `line::sim` also has those that are late.
//!
//! The world consists of the pools of two clients, of their tasks and contenders, of the nodes on the servers, and of
//! what each client knows of its nodes. The gate and the permits are one queue here: a node holds a permit if fewer
//! nodes than there are permits are in front of it.

mod check;
mod choice;
mod effect;
mod step;
mod task;
mod world;

use rustc_hash::FxHashSet;

use world::{Choice, Fault, Setup, World};

const ALL_FAULTS: &[Fault] =
    &[Fault::Suspend, Fault::Outsider, Fault::Revoke, Fault::UnknownWrite, Fault::Refuse, Fault::Close];

const PLAIN: Setup =
    Setup { calls: [2, 2], of: 1, most: 2, faults: 0, kinds: ALL_FAULTS, ticks: 1, choices: &[] };

/// Explores every reachable state and returns their number. A state is known by its fingerprint of 64 bits.
fn explore(setup: &'static Setup) -> usize {
    let mut start = World::new(setup);
    start.settle();
    let mut seen = FxHashSet::from_iter([start.fingerprint()]);
    let mut recovering = FxHashSet::default();
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

/// Each scene has a deep form, for the soak, and a small one, each with the number of states that it reaches at least.
macro_rules! scenes {
    ($($name:ident: $deep:expr, $most:literal; small $small:expr, $few:literal;)*) => {$(
        #[test]
        fn $name() {
            const SETUP: &Setup = &if cfg!(soak) { $deep } else { $small };
            let least = if cfg!(soak) { $most } else { $few };
            let states = explore(SETUP);
            assert!(states > least, "only {states} states were reached");
        }
    )*};
}

scenes! {
    two_clients_share_one_permit:
        Setup {
            calls: [3, 2],
            ..PLAIN
        }, 30_000;
        small Setup {
            calls: [2, 2],
            ..PLAIN
        }, 5_000;
    two_clients_share_two_permits:
        Setup {
            of: 2,
            calls: [3, 2],
            ..PLAIN
        }, 200_000;
        small Setup {
            of: 2,
            calls: [2, 1],
            ..PLAIN
        }, 2_000;
    calls_that_leave_and_write_share_two_permits:
        Setup {
            of: 2,
            choices: &[Choice::Leave, Choice::Write],
            ..PLAIN
        }, 200_000;
        small Setup {
            of: 2,
            calls: [2, 1],
            choices: &[Choice::Leave, Choice::Write],
            ..PLAIN
        }, 8_000;
    one_permit_survives_any_fault_at_any_step:
        Setup {
            faults: 1,
            choices: &[Choice::Write],
            ..PLAIN
        }, 300_000;
        small Setup {
            calls: [2, 1],
            faults: 1,
            ..PLAIN
        }, 10_000;
    two_permits_survive_any_fault_at_any_step:
        Setup {
            of: 2,
            calls: [3, 1],
            faults: 1,
            ..PLAIN
        }, 400_000;
        small Setup {
            of: 2,
            calls: [1, 1],
            faults: 1,
            choices: &[Choice::Write],
            ..PLAIN
        }, 3_000;
    calls_that_leave_survive_any_fault:
        Setup {
            calls: [2, 1],
            faults: 1,
            choices: &[Choice::Leave],
            ..PLAIN
        }, 30_000;
        small Setup {
            calls: [1, 1],
            faults: 1,
            choices: &[Choice::Leave],
            ..PLAIN
        }, 2_000;
    one_client_survives_any_two_faults:
        Setup {
            calls: [3, 0],
            faults: 2,
            ..PLAIN
        }, 60_000;
        small Setup {
            calls: [2, 0],
            faults: 2,
            ..PLAIN
        }, 5_000;
}
