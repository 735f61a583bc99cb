//! Property tests for queues with arbitrary names and lengths.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::contender::Contender;
use super::predicate::{Predicate, Role};
use super::turn::{Ahead, Obstacle, Turn, contenders, holders, in_order};

prop_compose! {
    /// Readers and writers in queue order.
    fn readers_and_writers()(
        kinds in vec(select(vec![Role::Read, Role::Write]), 1..20),
        start in 0..i32::MAX / 2,
    ) -> Vec<String> {
        let name = |(place, role): (usize, Role)| format!("x-{}{:010}", role.base(), start + place as i32);
        kinds.into_iter().enumerate().map(name).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(soak) { 256 } else { 64 }))]

    #[test]
    fn readers_hold_together_or_one_writer_holds_and_one_of_them_always_does(children in readers_and_writers()) {
        let ordered = in_order(&children, &[]);
        let held = holders(&ordered, Predicate::place);
        let roles: Vec<_> = ordered.iter().zip(&held).filter(|(_, held)| **held).map(|(c, _)| c.role).collect();
        prop_assert!(roles == [Role::Write] || (!roles.is_empty() && !roles.contains(&Role::Write)));
        for (contender, held) in ordered.iter().zip(held) {
            let turn = Turn::of(&ordered, contender.name, &Predicate::place(contender.role));
            prop_assert_eq!(turn == Turn::Head, held);
        }
    }

    #[test]
    fn a_waiting_contender_watches_one_in_front_that_waits_or_holds(children in readers_and_writers()) {
        for (place, name) in children.iter().enumerate() {
            let role = Contender::parse(name).unwrap().role;
            let turn = Turn::of(&contenders(&children, &[]), name, &Predicate::place(role));
            if let Turn::Behind(Ahead { obstacle, count }) = turn {
                let Obstacle::Contender(watched) = obstacle else {
                    return Err(TestCaseError::fail("nobody waits for anyone"));
                };
                prop_assert_eq!(count, place);
                let watched = children.iter().position(|child| *child == watched).unwrap();
                prop_assert!(watched < place);
                let between = &children[watched + 1..place];
                prop_assert!(between.iter().all(|name| role == Role::Read && name.contains("READ")));
            }
        }
    }
}
