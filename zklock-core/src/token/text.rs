//! The forms of a token as text.

use std::fmt;
use std::str::FromStr;

use super::{FencingToken, InvalidToken};

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
        Self::of(zxid, handoff, text)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for FencingToken {
    /// Serializes the text of [`to_text`](Self::to_text), so that stores can compare it.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:019}.{:010}", self.zxid, self.handoff))
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for FencingToken {
    /// Deserializes text that `FromStr` reads.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl serde::de::Visitor<'_> for Text {
            type Value = FencingToken;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a fencing token as text")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<FencingToken, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_a_fixed_width_and_display_has_not() {
        let token = FencingToken { zxid: 0x5_0000_0007, handoff: 3 };
        assert_eq!(token.to_string(), "21474836487.3");
        assert_eq!(token.to_text(), "0000000021474836487.0000000003");
        let greatest = FencingToken { zxid: i64::MAX as u64, handoff: u32::MAX };
        assert_eq!(greatest.to_text(), "9223372036854775807.4294967295");
    }

    #[track_caller]
    fn refused(text: &str, reason: &str) {
        let error = text.parse::<FencingToken>().unwrap_err();
        assert_eq!(error.to_string(), format!("invalid fencing token `{text}`: {reason}"));
    }

    #[test]
    fn text_that_is_no_token_is_refused() {
        refused("", "it has no dot");
        refused("7", "it has no dot");
        let not_numbers = "it is not two numbers with a dot between them";
        for text in [".", "7.", ".7", "+7.1", "7.-1", " 7.1", "7.1 ", "7.1.1", "0x7.1", "７.1"] {
            refused(text, not_numbers);
        }
        refused("18446744073709551616.0", "its zxid has more than 64 bits");
        refused("9223372036854775808.0", "its zxid is greater than any of ZooKeeper");
        refused("7.4294967296", "its count of hand-offs has more than 32 bits");
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
        assert!(error.to_string().contains("expected a fencing token as text"), "{error}");
    }
}
