//! The spans of the bodies under a term. A term may outlast many of them, and belongs to no caller.

use tracing::Span;

use crate::error::LockError;
use crate::events::HoldSpan;

/// Returns the span for the body itself.
pub(super) fn inside(span: &Option<HoldSpan>) -> Span {
    span.as_ref().and_then(HoldSpan::for_body).unwrap_or_else(Span::none)
}

/// Closes the span of a body with the outcome, which it returns.
pub(super) fn noted<T>(span: Option<HoldSpan>, outcome: Result<T, LockError>) -> Result<T, LockError> {
    if let (Some(span), Err(error)) = (&span, &outcome) {
        span.note(error);
    }
    outcome
}
