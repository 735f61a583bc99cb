//! Fencing tokens, by which a resource distinguishes a new holder of a lock from an old one.
//!
//! Uses no other module of the crate.

mod number;
mod text;

pub(crate) use self::number::GRANTS;

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

/// The error for a value that is no [`FencingToken`](crate::FencingToken).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid fencing token `{value}`: {reason}")]
pub struct InvalidToken {
    value: String,
    reason: &'static str,
}

impl InvalidToken {
    /// Shortens the value if it is very long.
    pub(crate) fn new(value: impl ToString, reason: &'static str) -> Self {
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
}
