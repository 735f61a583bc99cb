//! The spans of a call: that of its wait for a lock, and that of its hold.
//!
//! A subscriber is code of users, which must not run on the client's thread. A span is therefore made, filled and
//! closed where the call is. If no subscriber wants it, it costs the look at a flag: nothing is formatted or allocated.

use std::sync::OnceLock;

use tracing::field::{Empty, display};
use tracing::span::{Id, Span};

use crate::error::{LockError, LossReason};
use crate::event::Subject;
use crate::token::FencingToken;

/// Makes a span about a lock with these further fields. The fields that are empty are filled at its end.
macro_rules! span {
    ($name:literal, $subject:expr, $($field:tt)*) => {
        tracing::info_span!(
            target: TARGET,
            $name,
            zklock.path = $subject.path.relative(),
            zklock.name = &**$subject.label,
            zklock.kind = $subject.mode.name(),
            zklock.outcome = Empty,
            "error.type" = Empty,
            otel.status_code = Empty,
            otel.status_description = Empty,
            $($field)*
        )
    };
}

/// Opens the span of a call that waits for a lock, as a child of the present one.
pub(super) fn wait_span(subject: &Subject<'_>) -> Span {
    span!("zklock.acquire", subject, zklock.token = Empty)
}

/// The span of a hold, or of a body under a term. Dropping it tells that it has ended, unless it was told otherwise.
#[derive(Debug)]
pub(crate) struct HoldSpan {
    span: Span,
    /// The span in which it began.
    parent: Option<Id>,
    trouble: OnceLock<LockError>,
}

impl HoldSpan {
    /// Opens the span, as a child of the present one, if a subscriber wants it.
    pub(crate) fn begin(subject: &Subject<'_>, token: FencingToken) -> Option<Self> {
        let span = span!("zklock.hold", subject, zklock.token = %token, zklock.reason = Empty);
        if span.is_disabled() {
            return None;
        }
        Some(Self { span, parent: Span::current().id(), trouble: OnceLock::new() })
    }

    /// Returns whether a body that begins now is inside of this span. One that begins inside of another span than the hold
    /// did stays there.
    pub(crate) fn is_for_body(&self) -> bool {
        let present = Span::current().id();
        present.is_none() || present == self.parent
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// Takes note of a loss, or of a release that failed. The first one counts.
    pub(crate) fn note(&self, trouble: &LockError) {
        self.trouble.get_or_init(|| trouble.clone());
    }
}

impl Drop for HoldSpan {
    fn drop(&mut self) {
        let span = &self.span;
        match self.trouble.get() {
            None => drop(span.record("zklock.outcome", "ended")),
            Some(error @ LockError::Lost { reason, .. }) => {
                span.record("zklock.outcome", "lost").record("zklock.reason", reason.name());
                if *reason != LossReason::Resigned {
                    record_error(span, "lost", error);
                }
            }
            Some(error) => {
                span.record("zklock.outcome", "release_failed");
                record_error(span, "release_failed", error);
            }
        }
    }
}

/// Records an error as the conventions of OpenTelemetry say.
pub(super) fn record_error(span: &Span, kind: &'static str, error: &LockError) {
    span.record("error.type", kind)
        .record("otel.status_code", "ERROR")
        .record("otel.status_description", display(error));
}

/// The target of the spans, by which filters can tell them from the log lines.
const TARGET: &str = "zklock::spans";
