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
    /// The only contender in front. Its end is the turn of the own node, because later ones are behind.
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
    Some(first.role).filter(|role| role.kind() != predicate.role().kind())
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
    use super::*;

    #[track_caller]
    fn check(predicate: &Predicate, children: &[&str], own: &str, expected: Turn) {
        let children = names(children);
        assert_eq!(Turn::of(&contenders(&children, &[]), own, predicate), expected, "{own}");
    }

    fn names(children: &[&str]) -> Vec<String> {
        children.iter().map(|name| (*name).to_owned()).collect()
    }

    fn behind(count: usize, obstacle: Obstacle) -> Turn {
        Turn::Behind(Ahead { obstacle, count })
    }

    #[test]
    fn the_contenders_in_front_are_counted_and_the_end_of_a_sole_mutex_is_the_turn() {
        let mutex = Predicate::place(Role::Exclusive);
        let children = ["b-lock-0000000003", "c-lock-0000000001", "a-lock-0000000002"];
        check(&mutex, &children, children[2], behind(1, Obstacle::Sole(children[1].into())));
        check(&mutex, &children, children[0], behind(2, Obstacle::Contender(children[2].into())));
        let mixed = ["a-lock-0000000001", "b-__READ__0000000002"];
        let read = Predicate::place(Role::Read);
        check(&read, &mixed, mixed[1], behind(1, Obstacle::Contender(mixed[0].into())));
        let permits = ["a-lease-0000000001", "b-lease-0000000002", "c-lease-0000000003"];
        check(&Predicate::Permit { of: 2 }, &permits, permits[2], behind(2, Obstacle::Anyone));
    }

    #[test]
    fn a_contender_with_a_number_of_the_counters_end_has_no_turn_and_is_in_nobodys_way() {
        let mutex = Predicate::place(Role::Exclusive);
        let children = ["a-lock--2147483648", "b-lock-2147483646", "c-lock-2147483647", "d-lock-2147483647"];
        check(&mutex, &children, children[1], Turn::Head);
        for unnumbered in [children[0], children[2], children[3]] {
            check(&mutex, &children, unnumbered, Turn::Unnumbered);
        }
        let children = names(&children[..3]);
        let ordered: Vec<_> = in_order(&children, &[]).into_iter().map(|contender| contender.name).collect();
        assert_eq!(ordered, ["b-lock-2147483646", "c-lock-2147483647", "a-lock--2147483648"]);
    }

    #[test]
    fn the_holders_of_permits_and_beside_a_downgraded_writer_are_those_whose_turn_it_is() {
        let downgraded = names(&["a-__READ__0000000003", "c-__WRIT__0000000003", "d-__READ__2147483647"]);
        assert_eq!(holders(&in_order(&downgraded, &[]), Predicate::place), [true, true, false]);
        let permits = names(&["a-lease-0000000001", "b-lease-0000000002", "c-lease-0000000003"]);
        let of_two = holders(&in_order(&permits, &[]), |_| Predicate::Permit { of: 2 });
        assert_eq!(of_two, [true, true, false]);
    }
}
