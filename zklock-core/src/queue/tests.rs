//! Property tests for queues with arbitrary names and lengths.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::contender::Contender;
use super::predicate::{Predicate, Role};
use super::turn::{Ahead, Obstacle, Turn, contenders, holders, in_order};

/// Text in front of a contender's base: nothing, Curator's prefix with a uuid, or arbitrary characters.
fn prefix() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "_c_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-",
        "[a-z0-9_-]{0,12}",
    ]
}

/// Names without a place in the queue.
fn stranger() -> impl Strategy<Value = String> {
    let fixed = ["0", "lock-", "lock-12", "ff__lock__0000000000", "x-member-0000000001"].map(String::from);
    prop_oneof![select(fixed.to_vec()), "[a-z]{1,8}"]
}

prop_compose! {
    /// Contenders in queue order, starting anywhere in the counter, and the children in random order.
    fn queue()(
        places in btree_map(0..i32::MAX / 2, prefix(), 1..20),
        start in 0..i32::MAX / 2,
        strangers in vec(stranger(), 0..4),
        swaps in vec(any::<(Index, Index)>(), 0..60),
    ) -> (Vec<String>, Vec<String>) {
        let name = |(place, prefix): (i32, String)| format!("{prefix}lock-{:010}", start + place);
        let contenders: Vec<_> = places.into_iter().map(name).collect();
        let mut children = [contenders.clone(), strangers].concat();
        for (one, other) in swaps {
            let length = children.len();
            children.swap(one.index(length), other.index(length));
        }
        (contenders, children)
    }
}

fn turn_of(children: &[String], own: &str) -> Turn {
    Turn::of(&contenders(children, &[]), own, &Predicate::place(Role::Exclusive))
}

/// Returns the contender that a contender watches, without the number of contenders in front of it.
fn watched(children: &[String], own: &str) -> Result<String, Turn> {
    match turn_of(children, own) {
        Turn::Behind(Ahead { obstacle: Obstacle::Contender(name) | Obstacle::Sole(name), .. }) => Ok(name),
        other => Err(other),
    }
}

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

    #[test]
    fn each_contender_is_behind_the_one_right_in_front_of_it_and_the_first_is_head(
        (contenders, children) in queue(),
    ) {
        prop_assert_eq!(turn_of(&children, &contenders[0]), Turn::Head);
        for pair in contenders.windows(2) {
            prop_assert_eq!(watched(&children, &pair[1]), Ok(pair[0].clone()));
        }
    }

    #[test]
    fn a_queue_is_listed_in_the_order_in_which_it_is_served((contenders, children) in queue()) {
        let listed: Vec<_> = in_order(&children, &[]).into_iter().map(|contender| contender.name).collect();
        prop_assert_eq!(listed, contenders);
    }

    #[test]
    fn a_name_that_is_a_place_ends_as_the_server_prints_it(name in ".{0,9}(lock-)?-?0{0,9}[0-9]{1,10}") {
        if let Some(contender) = Contender::parse(&name) {
            let end = format!("lock-{}", contender.sequence);
            prop_assert!(name.ends_with(&end));
        }
    }
}
