//! The span of a lock that is held, from its grant to the end of its last hold.

use std::sync::Arc;

use tracing::Span;

use crate::cohort::Grant;
use crate::error::LockError;
use crate::events::HoldSpan;
use crate::lease::Share;

use super::door::Door;

/// The part of one hold in the span of its lock. It is dropped before the lock is given back, because later holders may
/// lose that.
#[derive(Clone, Debug)]
pub(super) struct Spanned(Option<(Arc<HoldSpan>, Arc<Share>)>);

/// The span of a hold that is being given back. It is closed when the last hold of the lock has ended.
#[derive(Debug)]
#[must_use = "the span may be closed when this is dropped"]
pub(crate) struct Closing(Arc<HoldSpan>);

/// Opens the span of a lock, as a child of the present one, if a subscriber wants it.
pub(super) fn open(door: &Door, grants: &[Grant]) -> Option<Arc<HoldSpan>> {
    let token = grants.iter().map(|grant| grant.share().token()).min()?;
    HoldSpan::begin(&door.subject(None), token).map(Arc::new)
}

impl Spanned {
    pub(super) fn part(span: Option<&Arc<HoldSpan>>, grant: &Grant) -> Self {
        Self(span.map(|span| (span.clone(), grant.share().clone())))
    }

    /// Returns the span for a body under this hold, unless the body is to stay in the present one.
    pub(super) fn for_body(&self) -> Option<Span> {
        self.0.as_ref().and_then(|(span, _)| span.for_body())
    }

    /// Gives this part up. The caller keeps the span open until the release has ended.
    pub(super) fn give_up(&mut self) -> Option<Closing> {
        let (span, share) = self.0.take()?;
        let tenure = share.tenure();
        if let Some(reason) = tenure.loss() {
            span.note(&tenure.lost_error(reason));
        }
        Some(Closing(span))
    }
}

impl Drop for Spanned {
    fn drop(&mut self) {
        drop(self.give_up());
    }
}

impl Closing {
    pub(super) fn note(&self, outcome: &Result<(), LockError>) {
        if let Err(error) = outcome {
            self.0.note(error);
        }
    }
}
