//! Fencing tokens, by which a resource distinguishes a new holder of a lock from an old one.
//!
//! Uses no other module.

use std::fmt;

/// A number that increases from holder to holder of a lock, for the resource that the lock protects.
///
/// Pass the token with every request to the resource, and let the resource refuse a token smaller than
/// the greatest one it has seen. A holder that was paused beyond the end of its lease then cannot do
/// harm, even if it has not noticed the loss (M. Kleppmann, *How to do distributed locking*, 2016).
///
/// A token consists of the zxid of the transaction that created the lock's node, which increases
/// across the whole ensemble, and a count of hand-offs within that node. Unlike the node's sequence
/// number, it still increases after the lock's parent was deleted and created again.
///
/// # Examples
///
/// ```
/// use zklock_core::FencingToken;
///
/// # fn accept(greatest: &mut Option<FencingToken>, token: FencingToken) -> bool {
/// if *greatest > Some(token) {
///     return false; // an older holder
/// }
/// *greatest = Some(token);
/// true
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken {
    zxid: u64,
    handoff: u32,
}

impl FencingToken {
    pub(crate) fn new(czxid: i64) -> Self {
        // A zxid is a 32-bit epoch followed by a 32-bit counter. It is never negative.
        Self { zxid: czxid as u64, handoff: 0 }
    }

    /// Returns the token after this many hand-offs within its node.
    pub(crate) fn handed_on(self, handoff: u32) -> Self {
        Self { handoff, ..self }
    }

    /// Returns the zxid of the transaction that created the lock's node.
    pub fn zxid(&self) -> u64 {
        self.zxid
    }

    /// Returns how many times the lock was handed on within its node, starting at zero.
    pub fn handoff(&self) -> u32 {
        self.handoff
    }
}

impl From<FencingToken> for u128 {
    /// Returns the token as one number with the same order.
    fn from(token: FencingToken) -> Self {
        Self::from(token.zxid) << 32 | Self::from(token.handoff)
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.zxid, self.handoff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_rise_by_zxid_first_and_by_handoff_then() {
        let tokens =
            [(1, 0), (1, 1), (2, 0), (1 << 40, 0)].map(|(zxid, handoff)| FencingToken { zxid, handoff });
        assert!(tokens.is_sorted());
        assert!(tokens.map(u128::from).is_sorted());
        assert_eq!(tokens[1].to_string(), "1.1");
    }
}
