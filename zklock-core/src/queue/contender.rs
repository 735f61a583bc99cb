//! Names of contenders and their order.
//!
//! Curator's grammar (`ProtectedUtils`, `StandardLockInternalsDriver`): `_c_<uuid>-<base><sequence>`,
//! where the server appends the sequence as `%010d` of a signed 32-bit counter of the parent. At
//! 2147483647 the counter stops (`DataTree.createNode` accepts only greater values). Further nodes
//! get that same number, or negative ones while earlier creates are still being applied.

use std::fmt;

use uuid::Uuid;

use super::predicate::{Role, role_of_stranger};

/// The globally unique identity of one acquisition's contender.
///
/// An acquisition that must create its node again, because the outcome of the first request is unknown or an
/// outsider deleted the node, continues with another *attempt*. The last field of the uuid counts the
/// attempts, so that a node that appears late is recognized as stale and never mistaken for the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ContenderId(Uuid);

impl ContenderId {
    pub(crate) fn new(uuid: Uuid) -> Self {
        let (high, low) = uuid.as_u64_pair();
        Self(Uuid::from_u64_pair(high, low & !ATTEMPTS))
    }

    /// Returns the identity for the next attempt of the same acquisition.
    pub(crate) fn next_attempt(self) -> Self {
        let (high, low) = self.0.as_u64_pair();
        let attempt = low.wrapping_add(1) & ATTEMPTS;
        Self(Uuid::from_u64_pair(high, (low & !ATTEMPTS) | attempt))
    }

    /// Tells whether both are attempts of one acquisition.
    pub(crate) fn same_acquisition(self, other: Self) -> bool {
        Self::new(self.0) == Self::new(other.0)
    }

    /// Returns the name to create, to which the server appends the sequence.
    pub(crate) fn node_prefix(self, role: Role) -> String {
        let mut uuid = Uuid::encode_buffer();
        [PROTECTED, self.0.hyphenated().encode_lower(&mut uuid), "-", role.base()].concat()
    }

    /// Returns the path to create below this one, to which the server appends the sequence.
    pub(crate) fn node_path(self, dir: &str, role: Role) -> String {
        [dir, "/", &self.node_prefix(role)].concat()
    }
}

/// A parsed child of a lock: one place in its queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contender<'a> {
    pub(crate) name: &'a str,
    pub(crate) role: Role,
    pub(crate) sequence: Sequence,
    /// `None` for the node of a client that does not use Curator's protected creates.
    pub(crate) id: Option<ContenderId>,
}

impl<'a> Contender<'a> {
    /// Parses a child's name. Returns `None` if the child is not a contender of any recipe.
    ///
    /// As in Curator, only the text after the last base determines the order. The text before it
    /// may have any form.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        Role::ALL.into_iter().find_map(|role| {
            let (prefix, sequence) = split(name, role.base())?;
            Some(Self { name, role, sequence, id: parse_id(prefix) })
        })
    }

    /// Parses the name of a contender with zklock's grammar, or of another client with one of these patterns in front of its
    /// sequence.
    ///
    /// A contender with kazoo's pattern for shared ones is a reader. Any other is a writer.
    pub(crate) fn parse_any(name: &'a str, patterns: &[String]) -> Option<Self> {
        Self::parse(name).or_else(|| {
            let of = |pattern: &'_ String| Some((role_of_stranger(pattern), split(name, pattern)?.1));
            let (role, sequence) = patterns.iter().find_map(of)?;
            Some(Self { name, role, sequence, id: None })
        })
    }

    pub(crate) fn is_of(&self, id: ContenderId) -> bool {
        self.id.is_some_and(|own| own.same_acquisition(id))
    }
}

/// The sequence number that the server gave to a node, from a 32-bit counter of the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sequence(i32);

impl Sequence {
    /// Parses exactly the output of the server's `%010d`, including numbers that are not unique.
    pub(crate) fn parse(digits: &str) -> Option<Self> {
        let unsigned = digits.strip_prefix('-').unwrap_or(digits);
        // A longer number than the ten characters has no leading zero, and there is no negative zero.
        let is_padded = match (digits.len(), unsigned.len()) {
            (10, 10) => true,
            (10, 9) => unsigned.bytes().any(|byte| byte != b'0'),
            (11, 10) => !unsigned.starts_with('0'),
            _ => false,
        };
        let is_well_formed = is_padded && unsigned.bytes().all(|byte| byte.is_ascii_digit());
        is_well_formed.then(|| digits.parse().ok().map(Self))?
    }

    /// Returns the distance of `self` behind `other`, which is negative if `self` is in front.
    ///
    /// This is serial-number arithmetic (RFC 1982). It is correct as long as the contenders alive
    /// at one time span less than half of the counter. The numbers that a server gives out at the
    /// end of its counter are behind all others.
    pub(crate) fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0)
    }

    /// Tells whether the server gave this number to no other node, so that it determines the order.
    pub(crate) fn is_unique(self) -> bool {
        (0..i32::MAX).contains(&self.0)
    }

    /// Tells whether the server gave no number between `other` and this one, and neither of them twice.
    pub(crate) fn is_next_after(self, other: Self) -> bool {
        self.is_unique() && other.is_unique() && self.distance_from(other) == 1
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010}", self.0)
    }
}

/// Tells whether a child's name may end in a sequence, whatever stands in front of it.
pub(crate) fn is_numbered(name: &str) -> bool {
    name.bytes().rev().take_while(u8::is_ascii_digit).count() >= FEWEST_DIGITS
}

/// Splits `name` at the last occurrence of `base`, if a sequence follows it.
fn split<'a>(name: &'a str, base: &str) -> Option<(&'a str, Sequence)> {
    let (prefix, sequence) = name.rsplit_once(base)?;
    Some((prefix, Sequence::parse(sequence)?))
}

/// Parses `_c_<uuid>-`.
fn parse_id(prefix: &str) -> Option<ContenderId> {
    let uuid = prefix.strip_prefix(PROTECTED)?.strip_suffix('-')?;
    // The uuid crate also accepts other forms, such as one without hyphens, which Curator does not write.
    (uuid.len() == 36).then(|| uuid.parse().ok().map(ContenderId))?
}

/// The number of digits of a negative sequence. Others have one more.
const FEWEST_DIGITS: usize = 9;
const PROTECTED: &str = "_c_";
/// The bits of a uuid's last field that count attempts.
const ATTEMPTS: u64 = 0xffff;

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "6ba7b810-9dad-41d1-80b4-00c04fd40000";

    fn id() -> ContenderId {
        ContenderId::new(UUID.parse().unwrap())
    }

    #[track_caller]
    fn check(name: &str, sequence: Option<i32>, has_id: bool) {
        let parsed = Contender::parse(name);
        assert_eq!(parsed.as_ref().map(|contender| contender.sequence.0), sequence, "{name}");
        assert_eq!(parsed.is_some_and(|contender| contender.id.is_some()), has_id, "{name}");
    }

    #[test]
    fn curators_names_are_contenders_and_strangers_are_not() {
        check(&format!("_c_{UUID}-lock-0000000000"), Some(0), true);
        check(&format!("_c_{UUID}-lock-2147483647"), Some(i32::MAX), true);
        check(&format!("_c_{UUID}-lock--2147483648"), Some(i32::MIN), true);
        check(&format!("_c_{UUID}-lock--000000005"), Some(-5), true);
        check("lock-0000000007", Some(7), false);
        check("_c_0011-lock-0000000007", Some(7), false);
        check("_c_6ba7b8109dad41d180b400c04fd40000-lock-0000000007", Some(7), false);
        check("a-lock-lock-0000000003", Some(3), false);
        for stranger in [
            "",
            "lock-",
            "0",
            "lock-7",
            "lock-00000000007",
            "lock-0000000 07",
            "lock-+000000007",
            "lock-9999999999",
            "lock--0000000005",
            "lock-000000000ü",
            "0f__lock__0000000001",
            "_c_x-member-0000000001",
            "__READ__1",
        ] {
            check(stranger, None, false);
        }
    }

    #[test]
    fn the_name_says_what_a_contender_is() {
        for role in Role::ALL {
            let name = format!("{}0000000007", id().node_prefix(role));
            let parsed = Contender::parse(&name).unwrap();
            assert_eq!((parsed.role, parsed.id, parsed.sequence.0), (role, Some(id()), 7), "{name}");
        }
    }

    #[test]
    fn any_name_that_ends_in_a_sequence_is_numbered() {
        for name in
            ["0000000001", "x0000000001", "ff__lock__0000000000", "a-lock--000000005", "x-12345678901"]
        {
            assert!(is_numbered(name), "{name}");
        }
        for name in ["", "locks", "x-00000001", "0000000001x", "é00000000"] {
            assert!(!is_numbered(name), "{name}");
        }
    }

    #[test]
    fn the_order_survives_the_roll_over() {
        let order = [i32::MAX - 1, i32::MAX, i32::MIN, i32::MIN + 1].map(Sequence);
        for pair in order.windows(2) {
            assert_eq!(pair[1].distance_from(pair[0]), 1);
            assert_eq!(pair[0].distance_from(pair[1]), -1);
        }
    }

    #[test]
    fn the_next_number_is_greater_by_one_and_given_once() {
        let is_next = |own, last| Sequence(own).is_next_after(Sequence(last));
        assert!(is_next(1, 0) && is_next(i32::MAX - 1, i32::MAX - 2));
        for (own, last) in [(0, 0), (0, 1), (2, 0), (i32::MAX, i32::MAX - 1), (i32::MIN, i32::MAX), (0, -1)] {
            assert!(!is_next(own, last), "{own} after {last}");
        }
    }

    #[test]
    fn attempts_of_one_acquisition_differ_in_name_and_know_each_other() {
        let first = id();
        let second = first.next_attempt();
        assert_ne!(first, second);
        assert_ne!(first.node_prefix(Role::Exclusive), second.node_prefix(Role::Exclusive));
        assert!(first.same_acquisition(second));
        let stranger = ContenderId::new(Uuid::from_u64_pair(1, 1 << 16));
        assert!(!first.same_acquisition(stranger));
        let name = format!("{}0000000001", second.node_prefix(Role::Exclusive));
        assert!(Contender::parse(&name).unwrap().is_of(first));
    }

    #[test]
    fn attempts_wrap_without_leaving_the_acquisition() {
        let mut last = id();
        for _ in 0..=ATTEMPTS {
            last = last.next_attempt();
            assert!(last.same_acquisition(id()));
        }
        assert_eq!(last, id());
    }

    #[test]
    fn a_new_uuid_stays_a_version_4_uuid() {
        assert_eq!(ContenderId::new(Uuid::new_v4()).next_attempt().0.get_version_num(), 4);
    }
}
