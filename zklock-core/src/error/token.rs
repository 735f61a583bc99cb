//! The error for a value that is no fencing token.

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
