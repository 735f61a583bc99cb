//! An entry into a mutex for one step of a body.

use std::sync::Arc;

use crate::error::LockError;
use crate::events::HoldSpan;

use super::inside::Inside;
use super::node::Ties;
use super::scope::{leave_visit, unvisit, visit_again};
use super::sought::Sought;

/// An entry into a mutex that the call holds, for one step of a body. The entry is a part of the current call until the
/// value is dropped, on the same thread.
///
/// Most bodies inside of others end in their first step. Such a step looks for the hold around it once, and knows its place
/// in the scope from then on.
pub(super) struct Stay {
    /// The ties of the hold around it. `None` once it has ended.
    around: Option<Arc<Ties>>,
    /// The number of frames of the scope inside of that of the hold.
    depth: usize,
}

impl Stay {
    /// Enters a mutex again if the current call holds it, nothing is in the way, and the call is not inside of such an entry
    /// already.
    ///
    /// The caller reads the lease clock, by [`check`](Self::check).
    #[inline(always)]
    pub(super) fn begin(sought: Sought<'_>) -> Option<Self> {
        let (ties, depth) = visit_again(sought)?;
        let is_over = ties.node.is_over();
        let stay = Self { around: Some(ties), depth };
        (!is_over).then_some(stay)
    }

    /// Fails if the lock is lost.
    #[inline(always)]
    pub(super) fn check(&self) -> Result<(), LockError> {
        self.ties().node.tenure().check()
    }

    /// Returns the span for the body, unless the body is to stay in the present one.
    #[inline(always)]
    pub(super) fn span(&self) -> Option<Arc<HoldSpan>> {
        self.ties().span.for_body()
    }

    /// Goes on as an entry that later steps make a part of their call.
    pub(super) fn go_on(mut self) -> Inside {
        unvisit();
        Inside::by(self.around.take().expect(ONCE))
    }

    /// Ends the entry with its step, and returns the ties that end with it.
    #[inline(always)]
    pub(super) fn end(mut self) -> Option<Arc<Ties>> {
        if self.ties().node.visits.is_seen() {
            return self.go_on().leave();
        }
        leave_visit(self.around.take()?, self.depth)
    }

    #[inline(always)]
    fn ties(&self) -> &Arc<Ties> {
        self.around.as_ref().expect(ONCE)
    }
}

impl Drop for Stay {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(ties) = self.around.take() {
            unvisit();
            drop(Inside::by(ties));
        }
    }
}

const ONCE: &str = "a stay ends once";
