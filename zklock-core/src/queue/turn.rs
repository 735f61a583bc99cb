//! Whose turn it is: a pure function of the children.

use super::contender::{Contender, ContenderId};

/// The place of one contender among the children of its lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It is first: it holds the lock.
    Head,
    /// Others are in front; the nearest of them has this name.
    Behind(String),
    /// It is not among the children.
    Missing,
    /// The parent's numbers are used up, so that nobody can say who came before it.
    Unnumbered,
}

impl Turn {
    /// Finds the place of the node `own` (Curator's `StandardLockInternalsDriver.getsTheLock`).
    pub(crate) fn of(children: &[String], own: &str) -> Self {
        let contenders = || children.iter().filter_map(|name| Contender::parse(name));
        let Some(me) = contenders().find(|contender| contender.name == own) else {
            return Self::Missing;
        };
        if !me.sequence.is_unique() {
            return Self::Unnumbered;
        }
        let nearest = contenders()
            .map(|other| (other.sequence.distance_from(me.sequence), other.name))
            .filter(|(distance, _)| *distance < 0)
            .max();
        match nearest {
            Some((_, name)) => Self::Behind(name.to_owned()),
            None => Self::Head,
        }
    }
}

/// The children that belong to the acquisition `id`, other than the node `own`.
pub(crate) fn stale(children: &[String], id: ContenderId, own: &str) -> Vec<String> {
    let is_stale = |name: &&String| *name != own && Contender::parse(name).is_some_and(|c| c.is_of(id));
    children.iter().filter(is_stale).cloned().collect()
}

/// The contenders among the children, first in the queue first.
pub(crate) fn in_order(children: &[String]) -> Vec<Contender<'_>> {
    let mut contenders: Vec<_> = children.iter().filter_map(|name| Contender::parse(name)).collect();
    if let Some(reference) = contenders.first().map(|contender| contender.sequence) {
        contenders.sort_by_key(|contender| contender.sequence.distance_from(reference));
    }
    contenders
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn names(children: &[&str]) -> Vec<String> {
        children.iter().map(|name| (*name).to_owned()).collect()
    }

    #[track_caller]
    fn check(children: &[&str], own: &str, expected: Turn) {
        assert_eq!(Turn::of(&names(children), own), expected);
    }

    fn behind(name: &str) -> Turn {
        Turn::Behind(name.into())
    }

    #[test]
    fn the_lowest_sequence_is_head_and_others_watch_the_one_in_front() {
        let children = ["b-lock-0000000003", "c-lock-0000000001", "a-lock-0000000002"];
        check(&children, "c-lock-0000000001", Turn::Head);
        check(&children, "a-lock-0000000002", behind("c-lock-0000000001"));
        check(&children, "b-lock-0000000003", behind("a-lock-0000000002"));
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
        let ordered: Vec<_> = in_order(&children).into_iter().map(|contender| contender.name).collect();
        assert_eq!(ordered, ["b-lock-2147483646", "c-lock-2147483647", "a-lock--2147483648"]);
    }

    #[test]
    fn stale_nodes_are_those_of_other_attempts() {
        let id = ContenderId::new(Uuid::from_u64_pair(1, 1 << 20));
        let own = format!("{}0000000002", id.next_attempt().node_prefix());
        let late = format!("{}0000000003", id.node_prefix());
        let children = vec![own.clone(), late.clone(), "x-lock-0000000001".into()];
        assert_eq!(stale(&children, id, &own), [late]);
    }
}
