//! The forms of a token as one number or two.

use super::{FencingToken, InvalidToken};

/// The number of bits for the hand-offs in the form of 64 bits.
const HANDOFF_BITS: u32 = 15;

/// The number of grants under one node, all of whose tokens have a count of hand-offs that fits the form of 64
/// bits. It is so large that the requests for the next node do not matter.
pub(crate) const GRANTS: u32 = 1 << HANDOFF_BITS;

/// The number of bits for the zxid in the form of 64 bits, which leaves the sign out.
const ZXID_BITS: u32 = 63 - HANDOFF_BITS;

impl FencingToken {
    /// Returns the token as one number that is not negative and has the same order, or `None` if it does not
    /// fit.
    ///
    /// A token of this version fits if the ensemble has elected a leader fewer than 65,536 times. If it has
    /// elected one more often, use another form for all tokens of the resource. From the highest bit on, the
    /// number has a zero, 16 bits of the zxid's epoch, the 32 bits of its counter, and 15 bits of the count of
    /// hand-offs. A lock is handed on fewer than 32,768 times within its node.
    pub fn to_i64(&self) -> Option<i64> {
        let fits = self.zxid < 1 << ZXID_BITS && self.handoff < GRANTS;
        // The number is not negative, because the zxid is less than 2^48.
        fits.then_some((self.zxid << HANDOFF_BITS | u64::from(self.handoff)) as i64)
    }

    /// Returns the token of a zxid and a count, which come from a `form` that anybody may have written.
    pub(super) fn of(zxid: u64, handoff: u32, form: impl ToString) -> Result<Self, InvalidToken> {
        if i64::try_from(zxid).is_err() {
            return Err(InvalidToken::new(form, "its zxid is greater than any of ZooKeeper"));
        }
        Ok(Self { zxid, handoff })
    }
}

impl TryFrom<i64> for FencingToken {
    type Error = InvalidToken;

    /// Reads the form of [`to_i64`](Self::to_i64).
    fn try_from(number: i64) -> Result<Self, InvalidToken> {
        let bits = u64::try_from(number).map_err(|_| InvalidToken::new(number, NEGATIVE))?;
        let handoff = bits as u32 & (GRANTS - 1);
        Ok(Self { zxid: bits >> HANDOFF_BITS, handoff })
    }
}

impl From<FencingToken> for (i64, i64) {
    /// Returns the zxid and the count of hand-offs, neither of which is negative.
    fn from(token: FencingToken) -> Self {
        // No zxid is greater than `i64::MAX`.
        (token.zxid as i64, token.handoff.into())
    }
}

impl TryFrom<(i64, i64)> for FencingToken {
    type Error = InvalidToken;

    /// Reads the zxid and the count of hand-offs.
    fn try_from((zxid, handoff): (i64, i64)) -> Result<Self, InvalidToken> {
        let invalid = |reason| InvalidToken::new(format!("{zxid}, {handoff}"), reason);
        let zxid = u64::try_from(zxid).map_err(|_| invalid(NEGATIVE))?;
        let handoff = match u32::try_from(handoff) {
            Ok(handoff) => handoff,
            Err(_) if handoff < 0 => return Err(invalid(NEGATIVE)),
            Err(_) => return Err(invalid("its count of hand-offs has more than 32 bits")),
        };
        Ok(Self { zxid, handoff })
    }
}

impl From<FencingToken> for u128 {
    /// Returns the token as one number with the same order.
    fn from(token: FencingToken) -> Self {
        Self::from(token.zxid) << 32 | Self::from(token.handoff)
    }
}

impl TryFrom<u128> for FencingToken {
    type Error = InvalidToken;

    /// Reads the number that a token is converted into.
    fn try_from(number: u128) -> Result<Self, InvalidToken> {
        let zxid = u64::try_from(number >> 32);
        let zxid = zxid.map_err(|_| InvalidToken::new(number, "it has more than 96 bits"))?;
        Self::of(zxid, number as u32, number)
    }
}

const NEGATIVE: &str = "it is negative";

#[cfg(test)]
mod tests {
    use super::*;

    fn token(epoch: u64, counter: u32, handoff: u32) -> FencingToken {
        FencingToken { zxid: epoch << 32 | u64::from(counter), handoff }
    }

    #[test]
    fn a_token_fits_64_bits_up_to_a_limit_and_never_wraps() {
        assert_eq!(token(0, 0, 0).to_i64(), Some(0));
        assert_eq!(token(0, 1, 1).to_i64(), Some((1 << 15) + 1));
        assert_eq!(token(0xffff, u32::MAX, 0x7fff).to_i64(), Some(i64::MAX));
        assert_eq!(token(0x1_0000, 0, 0).to_i64(), None);
        assert_eq!(token(0, 0, 0x8000).to_i64(), None);
        assert_eq!(token(0x7fff_ffff, u32::MAX, u32::MAX).to_i64(), None);
    }

    #[track_caller]
    fn refused<T: TryInto<FencingToken, Error = InvalidToken>>(number: T, message: &str) {
        assert_eq!(number.try_into().unwrap_err().to_string(), format!("invalid fencing token {message}"));
    }

    #[test]
    fn a_number_that_is_no_token_is_refused() {
        refused(-1_i64, "`-1`: it is negative");
        refused((-1, 0), "`-1, 0`: it is negative");
        refused((7, -1), "`7, -1`: it is negative");
        refused((7, 1 << 32), "`7, 4294967296`: its count of hand-offs has more than 32 bits");
        refused(1_u128 << 96, "`79228162514264337593543950336`: it has more than 96 bits");
        refused(1_u128 << 95, "`39614081257132168796771975168`: its zxid is greater than any of ZooKeeper");
    }
}
