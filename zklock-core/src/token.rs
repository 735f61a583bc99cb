//! Fencing tokens, by which a resource distinguishes a new holder of a lock from an old one.
//!
//! Uses no other module of the crate.

use std::fmt;
use std::str::FromStr;

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
///
/// # Storing a token
///
/// A token has 96 bits. Each of these forms has the order of the tokens:
///
/// | form | to | from | for |
/// |---|---|---|---|
/// | two numbers | `<(i64, i64)>::from(token)` | `TryFrom<(i64, i64)>` | two `BIGINT` columns, compared in this order |
/// | one number | [`to_i64`](Self::to_i64), unless the token does not fit | `TryFrom<i64>` | one `BIGINT` column |
/// | text of 30 bytes | [`to_text`](Self::to_text) | `FromStr` | columns, keys and metadata that are text |
/// | one long number | `u128::from(token)` | `TryFrom<u128>` | `NUMERIC`, or memory |
///
/// `Display` has no fixed width, and not the order of the tokens. `FromStr` reads it too. With the feature
/// `serde`, a token is serialized as the text of 30 bytes.
///
/// ```
/// use zklock_core::FencingToken;
///
/// # fn main() -> Result<(), zklock_core::InvalidToken> {
/// let token: FencingToken = "21474836487.3".parse()?;
/// assert_eq!(token.to_text(), "0000000021474836487.0000000003");
/// assert_eq!(<(i64, i64)>::from(token), (21474836487, 3));
/// assert_eq!(token.to_i64().map(FencingToken::try_from), Some(Ok(token)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken {
    /// At most `i64::MAX`.
    zxid: u64,
    handoff: u32,
}

impl FencingToken {
    pub(crate) fn new(czxid: i64) -> Self {
        // A zxid is a 32-bit epoch followed by a 32-bit counter. It is never negative.
        Self { zxid: czxid as u64, handoff: 0 }
    }

    /// Returns the token after this many hand-offs within its node.
    pub(crate) fn with_handoffs(self, handoff: u32) -> Self {
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

/// The error for a value that is no [`FencingToken`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid fencing token `{value}`: {reason}")]
pub struct InvalidToken {
    value: String,
    reason: &'static str,
}

impl InvalidToken {
    /// Shortens the value if it is very long.
    fn new(value: impl ToString, reason: &'static str) -> Self {
        let mut value = value.to_string();
        if let Some((end, _)) = value.char_indices().nth(SHOWN) {
            value.truncate(end);
            value.push('…');
        }
        Self { value, reason }
    }

    /// Returns the value, shortened if it is very long.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the cause.
    pub fn reason(&self) -> &str {
        self.reason
    }
}

/// The number of characters of a value that are shown.
const SHOWN: usize = 64;
/// The number of bits for the hand-offs in the form of 64 bits.
const HANDOFF_BITS: u32 = 15;

/// The greatest number of grants under one node: the form of 64 bits then has room for each count of hand-offs. It is so
/// large that the requests for the next node do not matter.
pub(crate) const MAX_GRANTS: u32 = 1 << HANDOFF_BITS;

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
        let fits = self.zxid < 1 << ZXID_BITS && self.handoff < MAX_GRANTS;
        // The number is not negative, because the zxid is less than 2^48.
        fits.then_some((self.zxid << HANDOFF_BITS | u64::from(self.handoff)) as i64)
    }

    /// Returns the token of a zxid and a count, which come from a `form` that anybody may have written.
    fn checked(zxid: u64, handoff: u32, form: impl ToString) -> Result<Self, InvalidToken> {
        if i64::try_from(zxid).is_err() {
            return Err(InvalidToken::new(form, "its zxid is greater than any of ZooKeeper"));
        }
        Ok(Self { zxid, handoff })
    }
}

impl TryFrom<i64> for FencingToken {
    type Error = InvalidToken;

    /// Reads the form of [`to_i64`](Self::to_i64).
    ///
    /// # Errors
    ///
    /// [`InvalidToken`] if the number is negative.
    fn try_from(number: i64) -> Result<Self, InvalidToken> {
        let bits = u64::try_from(number).map_err(|_| InvalidToken::new(number, NEGATIVE))?;
        let handoff = bits as u32 & (MAX_GRANTS - 1);
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
    ///
    /// # Errors
    ///
    /// [`InvalidToken`] if a number is negative, or the count has more than 32 bits.
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
    ///
    /// # Errors
    ///
    /// [`InvalidToken`] if the number has more than 96 bits, or the zxid is greater than `i64::MAX`.
    fn try_from(number: u128) -> Result<Self, InvalidToken> {
        let zxid = u64::try_from(number >> 32);
        let zxid = zxid.map_err(|_| InvalidToken::new(number, "it has more than 96 bits"))?;
        Self::checked(zxid, number as u32, number)
    }
}

const NEGATIVE: &str = "it is negative";

impl FencingToken {
    /// Returns the token as text of 30 bytes, whose bytewise order is the order of the tokens.
    ///
    /// It has the 19 digits of the zxid, a dot, and the 10 digits of the count of hand-offs. `FromStr` reads
    /// it. It has this order under every collation in which digits have their usual order.
    pub fn to_text(&self) -> String {
        format!("{:019}.{:010}", self.zxid, self.handoff)
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.zxid, self.handoff)
    }
}

impl FromStr for FencingToken {
    type Err = InvalidToken;

    /// Reads the text of [`to_text`](Self::to_text) and of `Display`.
    ///
    /// # Errors
    ///
    /// [`InvalidToken`] if the text is not two numbers with a dot between them, or if one of them is too large.
    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let invalid = |reason| InvalidToken::new(text, reason);
        let (zxid, handoff) = text.split_once('.').ok_or_else(|| invalid("it has no dot"))?;
        // The parsers of numbers also accept a sign.
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(zxid) || !is_number(handoff) {
            return Err(invalid("it is not two numbers with a dot between them"));
        }
        let zxid = zxid.parse().map_err(|_| invalid("its zxid has more than 64 bits"))?;
        let handoff = handoff.parse().map_err(|_| invalid("its count of hand-offs has more than 32 bits"))?;
        Self::checked(zxid, handoff, text)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for FencingToken {
    /// Serializes the text of [`to_text`](Self::to_text), so that stores can compare it.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for FencingToken {
    /// Deserializes text that `FromStr` reads.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns any token, often with parts at the ends of their ranges.
    fn tokens() -> impl Strategy<Value = FencingToken> {
        let epochs = prop_oneof![Just(0), Just(u16::MAX.into()), Just(1 << 16), 0..=i32::MAX as u64];
        let counters = prop_oneof![Just(0), Just(u32::MAX), any::<u32>(), 0..3_u32];
        let handoffs = prop_oneof![Just(0x7fff), Just(0x8000), Just(u32::MAX), any::<u32>(), 0..3_u32];
        let token = |(epoch, counter, handoff): (u64, u32, u32)| FencingToken {
            zxid: epoch << 32 | u64::from(counter),
            handoff,
        };
        (epochs, counters, handoffs).prop_map(token)
    }

    proptest! {
        #[test]
        fn every_form_has_the_order_of_the_tokens(a in tokens(), b in tokens()) {
            let order = a.cmp(&b);
            prop_assert_eq!(u128::from(a).cmp(&b.into()), order);
            prop_assert_eq!(<(i64, i64)>::from(a).cmp(&b.into()), order);
            prop_assert_eq!(a.to_text().as_bytes().cmp(b.to_text().as_bytes()), order);
            if let (Some(one), Some(other)) = (a.to_i64(), b.to_i64()) {
                prop_assert_eq!(one.cmp(&other), order);
            }
        }

        #[test]
        fn every_form_leads_back_to_its_token(token in tokens()) {
            prop_assert_eq!(u128::from(token).try_into(), Ok(token));
            prop_assert_eq!(<(i64, i64)>::from(token).try_into(), Ok(token));
            prop_assert_eq!(token.to_text().len(), 30);
            prop_assert_eq!(token.to_text().parse(), Ok(token));
            prop_assert_eq!(token.to_string().parse(), Ok(token));
            let fits = token.zxid < 1 << 48 && token.handoff < 1 << 15;
            prop_assert_eq!(token.to_i64().map(TryInto::try_into), fits.then_some(Ok(token)));
        }

        #[test]
        fn every_number_that_is_not_negative_is_a_token(number in 0..=i64::MAX) {
            prop_assert_eq!(FencingToken::try_from(number).map(|token| token.to_i64()), Ok(Some(number)));
        }

        #[test]
        fn text_that_is_read_is_a_token_that_can_be_shown(text in "[0-9]{1,21}\\.[0-9]{1,11}") {
            if let Ok(token) = text.parse::<FencingToken>() {
                let (zxid, handoff) = text.split_once('.').unwrap();
                let shown = (zxid.parse().unwrap(), handoff.parse().unwrap());
                prop_assert_eq!((token.zxid(), token.handoff()), shown);
            }
        }
    }

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
    fn refused_number<T: TryInto<FencingToken, Error = InvalidToken>>(number: T, message: &str) {
        assert_eq!(number.try_into().unwrap_err().to_string(), format!("invalid fencing token {message}"));
    }

    #[test]
    fn a_number_that_is_no_token_is_refused() {
        refused_number(-1_i64, "`-1`: it is negative");
        refused_number((-1, 0), "`-1, 0`: it is negative");
        refused_number((7, -1), "`7, -1`: it is negative");
        refused_number((7, 1 << 32), "`7, 4294967296`: its count of hand-offs has more than 32 bits");
        refused_number(1_u128 << 96, "`79228162514264337593543950336`: it has more than 96 bits");
        refused_number(
            1_u128 << 95,
            "`39614081257132168796771975168`: its zxid is greater than any of ZooKeeper",
        );
    }

    #[test]
    fn text_has_a_fixed_width_and_display_has_not() {
        let token = FencingToken { zxid: 0x5_0000_0007, handoff: 3 };
        assert_eq!(token.to_string(), "21474836487.3");
        assert_eq!(token.to_text(), "0000000021474836487.0000000003");
        let greatest = FencingToken { zxid: i64::MAX as u64, handoff: u32::MAX };
        assert_eq!(greatest.to_text(), "9223372036854775807.4294967295");
    }

    #[track_caller]
    fn refused_text(text: &str, reason: &str) {
        let error = text.parse::<FencingToken>().unwrap_err();
        assert_eq!(error.to_string(), format!("invalid fencing token `{text}`: {reason}"));
    }

    #[test]
    fn text_that_is_no_token_is_refused() {
        refused_text("", "it has no dot");
        refused_text("7", "it has no dot");
        let not_numbers = "it is not two numbers with a dot between them";
        for text in [".", "7.", ".7", "+7.1", "7.-1", " 7.1", "7.1 ", "7.1.1", "0x7.1", "７.1"] {
            refused_text(text, not_numbers);
        }
        refused_text("18446744073709551616.0", "its zxid has more than 64 bits");
        refused_text("9223372036854775808.0", "its zxid is greater than any of ZooKeeper");
        refused_text("7.4294967296", "its count of hand-offs has more than 32 bits");
    }

    #[test]
    fn an_error_shows_the_start_of_a_long_text() {
        let error = "ü".repeat(1000).parse::<FencingToken>().unwrap_err();
        assert_eq!(error.value(), "ü".repeat(64) + "…");
        assert_eq!(error.reason(), "it has no dot");
    }

    #[cfg(feature = "serde")]
    #[test]
    fn serde_writes_the_text_of_fixed_width_and_reads_both() {
        let token = FencingToken { zxid: 7, handoff: 3 };
        let text = serde_json::to_string(&token).unwrap();
        assert_eq!(text, "\"0000000000000000007.0000000003\"");
        assert_eq!(serde_json::from_str::<FencingToken>(&text).unwrap(), token);
        assert_eq!(serde_json::from_value::<FencingToken>("7.3".into()).unwrap(), token);
        let error = serde_json::from_str::<FencingToken>("\"7\"").unwrap_err();
        assert!(error.to_string().starts_with("invalid fencing token `7`: it has no dot"), "{error}");
        let error = serde_json::from_str::<FencingToken>("7").unwrap_err();
        assert!(error.to_string().contains("expected a string"), "{error}");
    }
}
