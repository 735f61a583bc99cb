//! The span of a lock that is held, from its grant to the end of its last hold.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cohort::Grant;
use crate::error::LockError;
use crate::events::HoldSpan;
use crate::lease::Tenure;

use super::door::Door;

/// The part of some ties in the span of their lock. It is dropped before the lock is given back, because later holders may
/// lose that. A lock without a span has none, and no mutex, which each body would lock.
#[derive(Debug)]
pub(super) struct Spanned(Option<Mutex<Option<Arc<Part>>>>);

/// It is shared, so that entering again allocates nothing for it.
#[derive(Debug)]
struct Part {
    span: Arc<HoldSpan>,
    tenure: Arc<Tenure>,
}

/// The span of a hold that is being given back. It is closed when the last hold of the lock has ended.
#[derive(Debug)]
#[must_use = "the span may be closed when this is dropped"]
pub(super) struct Closing(Arc<HoldSpan>);

/// Opens the span of a lock, as a child of the present one, if a subscriber wants it.
pub(super) fn open(door: &Door, grants: &[Arc<Grant>]) -> Option<Arc<HoldSpan>> {
    let token = grants.iter().map(|grant| grant.token()).min()?;
    HoldSpan::begin(&door.subject(None), token).map(Arc::new)
}

impl Spanned {
    pub(super) fn part(span: Option<&Arc<HoldSpan>>, grant: &Grant) -> Self {
        let part = |span: &Arc<HoldSpan>| Part { span: span.clone(), tenure: grant.tenure().clone() };
        Self::of(span.map(|span| Arc::new(part(span))))
    }

    /// Returns the part in no span.
    pub(super) fn none() -> Self {
        Self(None)
    }

    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    fn of(part: Option<Arc<Part>>) -> Self {
        Self(part.map(|part| Mutex::new(Some(part))))
    }

    /// Returns the span for a body under this hold, unless the body is to stay in the present one.
    #[inline(always)]
    pub(super) fn for_body(&self) -> Option<Arc<HoldSpan>> {
        if self.is_none() { None } else { self.present_for_body() }
    }

    #[inline(never)]
    fn present_for_body(&self) -> Option<Arc<HoldSpan>> {
        Some(self.present()?.span.clone()).filter(|span| span.is_for_body())
    }

    /// Gives this part up. The caller keeps the span open until the release has ended.
    pub(super) fn give_up(&self) -> Option<Closing> {
        let part = self.lock()?.take()?;
        if let Some(reason) = part.tenure.loss() {
            part.span.note(&part.tenure.lost_error(reason));
        }
        Some(Closing(part.span.clone()))
    }

    /// Returns the span, which the caller keeps open until a release has ended.
    pub(super) fn closing(&self) -> Option<Closing> {
        self.present().map(|part| Closing(part.span.clone()))
    }

    #[inline]
    fn present(&self) -> Option<Arc<Part>> {
        self.lock()?.clone()
    }

    #[inline]
    fn lock(&self) -> Option<MutexGuard<'_, Option<Arc<Part>>>> {
        Some(self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Clone for Spanned {
    fn clone(&self) -> Self {
        Self::of(self.present())
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
