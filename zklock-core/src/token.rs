//! The number by which a resource tells an old holder from a new one.

use std::fmt;

/// A number that rises from holder to holder of a lock, for the resource that the lock protects.
///
/// Pass it with every request to the resource, and let the resource refuse a token smaller than the
/// greatest it has seen. A holder that was paused beyond its lease then cannot do harm, whatever it
/// believes (M. Kleppmann, *How to do distributed locking*, 2016).
///
/// It is the zxid of the transaction that created the lock's node, which rises over the whole ensemble,
/// and a count of hand-offs within one node. Unlike the node's sequence number it also rises after the
/// lock's parent was removed and created again.
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
        // A zxid is an epoch and a counter of 32 bits each, in that order; it is never negative.
        Self { zxid: czxid as u64, handoff: 0 }
    }

    /// The token after it was handed on so often within its node.
    pub(crate) fn handed_on(self, handoff: u32) -> Self {
        Self { handoff, ..self }
    }

    /// The zxid of the transaction that created the lock's node.
    pub fn zxid(&self) -> u64 {
        self.zxid
    }

    /// How often the lock was handed on within its node.
    pub fn handoff(&self) -> u32 {
        self.handoff
    }
}

impl From<FencingToken> for u128 {
    /// The token as one number with the same order.
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
