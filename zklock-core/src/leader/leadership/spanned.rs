//! The spans of the bodies under a term. A term may outlast many of them, and belongs to no caller.

use tracing::Span;

use crate::error::LockError;
use crate::events::HoldSpan;

/// Returns the span for the body itself.
pub(super) fn inside(span: &Option<HoldSpan>) -> Span {
    let for_body = span.as_ref().filter(|span| span.is_for_body());
    for_body.map_or_else(Span::none, |span| span.span().clone())
}

/// Closes the span of a body with the outcome, which it returns.
pub(super) fn noted<T>(span: Option<HoldSpan>, outcome: Result<T, LockError>) -> Result<T, LockError> {
    if let (Some(span), Err(error)) = (&span, &outcome) {
        span.note(error);
    }
    outcome
}
