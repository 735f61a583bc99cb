//! Determines the turn of a contender, as a pure function of the children.

use std::collections::HashSet;

use super::contender::{Contender, ContenderId};
use super::predicate::{Predicate, Role};

/// The place of one contender among the children of its lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It is the contender's turn: it holds the lock or permit that it claims.
    Head,
    /// Other contenders are in front, and at least one has to leave first.
    Behind(Ahead),
    /// The contender's node is not among the children.
    Missing,
    /// The parent's sequence numbers are used up, so the contender has no place in the order.
    Unnumbered,
}

/// The contenders in front of another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ahead {
    /// The obstacle that has to go before it is worthwhile to list the queue again.
    pub(crate) obstacle: Obstacle,
    /// The number of contenders in front, whether or not they have to leave.
    pub(crate) count: usize,
}

/// The contenders that keep another one from its turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Obstacle {
    /// The nearest of the contenders that have to leave.
    Contender(String),
    /// The only contender in front. Its end is the turn of a node that existed until then, because later ones are behind.
    Sole(String),
    /// Any contender in front.
    Anyone,
}

impl Turn {
    /// Determines the turn of the node `own` (Curator's `StandardLockInternalsDriver.getsTheLock`,
    /// `InterProcessReadWriteLock` and `InterProcessSemaphoreV2.internalAcquire1Lease`).
    pub(crate) fn of(contenders: &[Contender<'_>], own: &str, predicate: &Predicate) -> Self {
        let Some(me) = contenders.iter().find(|contender| contender.name == own) else {
            return Self::Missing;
        };
        if !me.sequence.is_unique() {
            return Self::Unnumbered;
        }
        let front = || in_front(contenders, me);
        let count = front().count();
        let obstacle = match predicate {
            Predicate::Permit { of } => (count >= *of as usize).then_some(Obstacle::Anyone),
            Predicate::Place(_) => {
                let in_the_way = front().filter(|(_, other)| predicate.waits_for(other.role));
                let nearest = in_the_way.max_by_key(|(distance, _)| *distance);
                nearest.map(|(_, other)| match count == 1 && predicate.inherits_from(other.role) {
                    true => Obstacle::Sole(other.name.to_owned()),
                    false => Obstacle::Contender(other.name.to_owned()),
                })
            }
        };
        match obstacle {
            Some(obstacle) => Self::Behind(Ahead { obstacle, count }),
            None => Self::Head,
        }
    }
}

/// Returns the role of the first contender in front of `own`, if it belongs to another recipe than this one.
///
/// The first contender determines the recipe of a queue. Later contenders of another recipe are
/// waited for like any others: they detect the mismatch themselves and leave.
pub(crate) fn other_recipe(contenders: &[Contender<'_>], own: &str, predicate: &Predicate) -> Option<Role> {
    let me = Contender::parse(own)?;
    let is_ours =
        |other: &Contender<'_>| predicate.also_behind().is_empty() || Contender::parse(other.name).is_some();
    let front = in_front(contenders, &me).filter(|(_, other)| is_ours(other));
    let (_, first) = front.min_by_key(|(distance, _)| *distance)?;
    Some(first.role).filter(|role| !role.is_akin_to(predicate.role()))
}

/// Returns the contenders in front of `me`, with their negative distances.
fn in_front<'a, 'b>(
    contenders: &'b [Contender<'a>],
    me: &Contender<'_>,
) -> impl Iterator<Item = (i32, &'b Contender<'a>)> + use<'a, 'b> {
    let own = me.sequence;
    let distances = contenders.iter().map(move |other| (other.sequence.distance_from(own), other));
    distances.filter(|(distance, _)| *distance < 0)
}

/// Parses the children that have a place in the queue, including those of other clients whose names
/// match a pattern in `strangers`.
pub(crate) fn contenders<'a>(children: &'a [String], strangers: &[String]) -> Vec<Contender<'a>> {
    children.iter().filter_map(|name| Contender::parse_any(name, strangers)).collect()
}

/// Returns the names of the contenders that belong to the acquisition `id`, other than the node `own`.
pub(crate) fn stale(contenders: &[Contender<'_>], id: ContenderId, own: &str) -> Vec<String> {
    let is_stale = |contender: &&Contender<'_>| contender.name != own && contender.is_of(id);
    contenders.iter().filter(is_stale).map(|contender| contender.name.into()).collect()
}

/// Tells for each contender whether it holds the lock or permit that it claims, given all of them in order.
pub(crate) fn holders(in_order: &[Contender<'_>], predicate: impl Fn(Role) -> Predicate) -> Vec<bool> {
    let mut holders = Vec::with_capacity(in_order.len());
    // The node of a downgraded writer has the sequence of the node that it replaces. Neither is in front.
    let mut roles_in_front = HashSet::new();
    for equals in in_order.chunk_by(|a, b| a.sequence == b.sequence) {
        let front = holders.len();
        let is_free = |me: &Contender<'_>| match predicate(me.role) {
            Predicate::Permit { of } => front < of as usize,
            place => !roles_in_front.iter().any(|role| place.waits_for(*role)),
        };
        holders.extend(equals.iter().map(|me| me.sequence.is_unique() && is_free(me)));
        roles_in_front.extend(equals.iter().map(|contender| contender.role));
    }
    holders
}

/// Returns the contenders among the children in queue order.
pub(crate) fn in_order<'a>(children: &'a [String], strangers: &[String]) -> Vec<Contender<'a>> {
    let mut contenders = contenders(children, strangers);
    if let Some(reference) = contenders.first().map(|contender| contender.sequence) {
        contenders.sort_by_key(|contender| contender.sequence.distance_from(reference));
    }
    contenders
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::queue::predicate::Place;

    fn names(children: &[&str]) -> Vec<String> {
        children.iter().map(|name| (*name).to_owned()).collect()
    }

    #[track_caller]
    fn check(children: &[&str], own: &str, expected: Turn) {
        check_turn(&Predicate::place(Role::Exclusive), children, own, expected);
    }

    #[track_caller]
    fn check_turn(predicate: &Predicate, children: &[&str], own: &str, expected: Turn) {
        let children = names(children);
        assert_eq!(Turn::of(&contenders(&children, predicate.also_behind()), own, predicate), expected);
    }

    fn behind(count: usize, name: &str) -> Turn {
        Turn::Behind(Ahead { obstacle: Obstacle::Contender(name.into()), count })
    }

    fn behind_only(name: &str) -> Turn {
        Turn::Behind(Ahead { obstacle: Obstacle::Sole(name.into()), count: 1 })
    }

    #[test]
    fn the_lowest_sequence_is_head_and_others_watch_the_one_in_front() {
        let children = ["b-lock-0000000003", "c-lock-0000000001", "a-lock-0000000002"];
        check(&children, "c-lock-0000000001", Turn::Head);
        check(&children, "a-lock-0000000002", behind_only("c-lock-0000000001"));
        check(&children, "b-lock-0000000003", behind(2, "a-lock-0000000002"));
    }

    #[test]
    fn what_stands_before_the_base_never_decides() {
        let children = ["zzz-lock-0000000001", "aaa-lock-0000000002"];
        check(&children, "zzz-lock-0000000001", Turn::Head);
    }

    #[test]
    fn strangers_neither_block_nor_are_watched() {
        let children = ["0", "garbage", "ff__lock__0000000000", "x-lock-0000000005"];
        check(&children, "x-lock-0000000005", Turn::Head);
    }

    #[test]
    fn an_absent_node_is_missing() {
        check(&[], "x-lock-0000000005", Turn::Missing);
        check(&["y-lock-0000000005"], "x-lock-0000000005", Turn::Missing);
        check(&["stranger"], "stranger", Turn::Missing);
    }

    #[test]
    fn who_got_a_number_of_the_counters_end_has_no_turn_and_is_in_nobodys_way() {
        let children = ["a-lock--2147483648", "b-lock-2147483646", "c-lock-2147483647", "d-lock-2147483647"];
        check(&children, "b-lock-2147483646", Turn::Head);
        for unnumbered in ["a-lock--2147483648", "c-lock-2147483647", "d-lock-2147483647"] {
            check(&children, unnumbered, Turn::Unnumbered);
        }
        let children = names(&children[..3]);
        let ordered: Vec<_> = in_order(&children, &[]).into_iter().map(|contender| contender.name).collect();
        assert_eq!(ordered, ["b-lock-2147483646", "c-lock-2147483647", "a-lock--2147483648"]);
    }

    #[test]
    fn stale_nodes_are_those_of_other_attempts() {
        let id = ContenderId::new(Uuid::from_u64_pair(1, 1 << 20));
        let own = format!("{}0000000002", id.next_attempt().node_prefix(Role::Exclusive));
        let late = format!("{}0000000003", id.node_prefix(Role::Exclusive));
        let children = vec![own.clone(), late.clone(), "x-lock-0000000001".into()];
        assert_eq!(stale(&contenders(&children, &[]), id, &own).as_slice(), [late]);
    }

    #[test]
    fn readers_share_and_wait_for_the_nearest_writer_in_front() {
        let (read, write) = (Predicate::place(Role::Read), Predicate::place(Role::Write));
        let children = [
            "a-__READ__0000000001",
            "b-__READ__0000000002",
            "c-__WRIT__0000000003",
            "d-__WRIT__0000000004",
            "e-__READ__0000000005",
            "f-__WRIT__0000000006",
        ];
        check_turn(&read, &children, children[0], Turn::Head);
        check_turn(&read, &children, children[1], Turn::Head);
        check_turn(&write, &children, children[2], behind(2, children[1]));
        check_turn(&write, &children, children[3], behind(3, children[2]));
        check_turn(&read, &children, children[4], behind(4, children[3]));
        check_turn(&write, &children, children[5], behind(5, children[4]));
    }

    #[test]
    fn a_reader_never_waits_for_a_writer_behind_it() {
        let children = ["b-__READ__0000000002", "c-__WRIT__0000000003"];
        check_turn(&Predicate::place(Role::Read), &children, children[0], Turn::Head);
    }

    #[test]
    fn a_downgraded_reader_keeps_the_writers_place() {
        let (read, write) = (Predicate::place(Role::Read), Predicate::place(Role::Write));
        let children = ["z-__READ__0000000002", "a-__WRIT__0000000002", "c-__WRIT__0000000003"];
        check_turn(&read, &children, children[0], Turn::Head);
        check_turn(&write, &children, children[1], Turn::Head);
        check_turn(&write, &children[..2], children[2], Turn::Missing);
        check_turn(&write, &[children[0], children[2]], children[2], behind(1, children[0]));
    }

    #[test]
    fn as_many_permits_as_there_are_stay_in_front() {
        let children = ["a-lease-0000000001", "b-lease-0000000002", "c-lease-0000000003"];
        let full = Turn::Behind(Ahead { obstacle: Obstacle::Anyone, count: 2 });
        check_turn(&Predicate::Permit { of: 3 }, &children, children[2], Turn::Head);
        check_turn(&Predicate::Permit { of: 2 }, &children, children[2], full);
        check_turn(&Predicate::Permit { of: 2 }, &children, children[1], Turn::Head);
    }

    #[test]
    fn who_is_first_says_what_a_queue_is_in_use_for() {
        let children = names(&["a-lock-0000000001", "b-__READ__0000000002", "c-lock-0000000003"]);
        let all = contenders(&children, &[]);
        let other = |own: usize, role| other_recipe(&all, &children[own], &Predicate::place(role));
        assert_eq!(other(0, Role::Exclusive), None);
        assert_eq!(other(1, Role::Read), Some(Role::Exclusive));
        assert_eq!(other(2, Role::Exclusive), None, "only the first contender determines it");
        assert_eq!(
            other_recipe(&all[1..], &children[2], &Predicate::place(Role::Exclusive)),
            Some(Role::Read)
        );
        let children = ["a-lock-0000000001", "b-__READ__0000000002", "c-lock-0000000003"];
        check(&children, children[2], behind(2, children[1]));
        check_turn(&Predicate::place(Role::Read), &children[..2], children[1], behind(1, children[0]));
    }

    #[test]
    fn contenders_of_other_clients_are_honoured_where_they_are_named() {
        let also_behind = |role| {
            let also_behind = ["__lock__".to_owned(), "__rlock__".to_owned()].into();
            Predicate::Place(Place { role, also_behind })
        };
        let children = ["0f__lock__0000000001", "0e__rlock__0000000002", "x-lock-0000000003"];
        check(&children, children[2], Turn::Head);
        check_turn(&also_behind(Role::Exclusive), &children, children[2], behind(2, children[1]));
        let children = ["0f__lock__0000000001", "0e__rlock__0000000002", "x-__READ__0000000003"];
        check_turn(&also_behind(Role::Read), &children, children[2], behind(2, children[0]));
        let children = ["0f__lock__0000000004", "0e__lock__x", "x-lock-0000000003"];
        check_turn(&also_behind(Role::Exclusive), &children, children[2], Turn::Head);
    }

    #[test]
    fn the_holders_are_those_whose_turn_it_is() {
        let children = names(&[
            "a-__READ__0000000001",
            "b-__READ__0000000002",
            "c-__WRIT__0000000003",
            "d-__READ__0000000004",
            "e-__READ__2147483647",
        ]);
        let holders_of = |children: &[String]| holders(&in_order(children, &[]), Predicate::place);
        assert_eq!(holders_of(&children), [true, true, false, false, false]);
        assert_eq!(holders_of(&children[2..]), [true, false, false]);
        let downgraded = names(&["a-__READ__0000000003", "c-__WRIT__0000000003"]);
        assert_eq!(holders_of(&downgraded), [true, true]);
        let permits = names(&["a-lease-0000000001", "b-lease-0000000002", "c-lease-0000000003"]);
        let of_two = holders(&in_order(&permits, &[]), |_| Predicate::Permit { of: 2 });
        assert_eq!(of_two, [true, true, false]);
    }

    #[test]
    fn the_list_of_holders_says_what_each_contender_finds() {
        let children = names(&[
            "a-__WRIT__0000000004",
            "b-__READ__0000000002",
            "c-__READ__0000000003",
            "d-__READ__0000000005",
        ]);
        let ordered = in_order(&children, &[]);
        let one_by_one: Vec<_> = ordered
            .iter()
            .map(|me| Turn::of(&ordered, me.name, &Predicate::place(me.role)) == Turn::Head)
            .collect();
        assert_eq!(holders(&ordered, Predicate::place), one_by_one);
    }
}
