//! An entry into a mutex for one step of a body.

use std::sync::Arc;

use crate::client::ClientId;
use crate::error::LockError;
use crate::events::HoldSpan;

use super::inside::Inside;
use super::node::Ties;
use super::scope::{leave_visit, unvisit, visit_again};

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
    /// Enters the mutex at this path again if the current call holds it now, nothing is in the way, and the call is not
    /// inside of such an entry already.
    #[inline(always)]
    pub(super) fn begin(client: ClientId, path: &str) -> Option<Self> {
        let (ties, depth) = visit_again(client, path)?;
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
            give_up(ties);
        }
    }
}

/// Ends an entry that has not ended with its step: the hold around it has ended, the lock is lost, or the body has panicked.
#[cold]
#[inline(never)]
fn give_up(ties: Arc<Ties>) {
    unvisit();
    drop(Inside::by(ties));
}

const ONCE: &str = "a stay ends once";
