//! An operation, and the time in which it took effect.

use super::super::source::CallId;

/// An operation of a model, with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<O> {
    /// The call that made it.
    pub call: CallId,
    /// The operation and its result.
    pub op: O,
    /// The time at which the operation began.
    pub invoked: u64,
    /// The time in which it takes effect.
    pub span: Span,
}

/// The time in which an operation takes effect, from its beginning on. Operations at the same time have any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The operation took effect up to this time.
    Certain {
        /// The time of the answer.
        returned: u64,
    },
    /// The operation took effect, or not.
    Uncertain {
        /// The time from which on it can no more do so, or `None` if it can at any later time.
        until: Option<u64>,
    },
}

impl<O> Operation<O> {
    /// Returns the latest time at which the operation takes effect, if there is one.
    pub fn last(&self) -> Option<u64> {
        match self.span {
            Span::Certain { returned } => Some(returned),
            Span::Uncertain { until } => until,
        }
    }

    /// Tells whether the operation took effect.
    pub fn is_certain(&self) -> bool {
        matches!(self.span, Span::Certain { .. })
    }
}
