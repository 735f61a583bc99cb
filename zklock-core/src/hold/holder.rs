//! The holds of a body, as far as running the body is concerned.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::future::select_all;

use crate::error::{LockError, LossReason};
use crate::events::HoldSpan;

use super::Hold;
use super::finishing::{Finishing, finish};
use super::held::Frame;
use super::holds::Holds;
use super::node::Node;
use super::scope::{self, Entered, Scope, with_frame, within_visit};

/// Returns the scope of the current call with these holds in it. It can be carried elsewhere.
pub(super) fn scope_inside(holds: &[Hold]) -> Scope {
    scope_within(holds).seen()
}

/// Returns the scope of the current call with these holds in it. No reference to it outlives the holds.
pub(super) fn scope_within(holds: &[Hold]) -> Scope {
    match holds {
        [hold] => match hold.around() {
            Some(outer) => within_visit(outer),
            None => with_frame(Frame::Lock(hold.node().clone())),
        },
        holds => with_frame(Frame::of(holds.iter().map(Hold::node).cloned())),
    }
}

/// Returns the span for a body under these holds, which is that of the last one. A body that is inside of a later span
/// than that, such as the body of a call that has entered the lock again, stays there.
#[inline]
pub(super) fn span_around(holds: &[Hold]) -> Option<Arc<HoldSpan>> {
    holds.iter().rev().find_map(Hold::span_for_body)
}

/// The future that ends with a loss.
pub(super) type Lost = Pin<Box<dyn Future<Output = LossReason> + Send>>;

/// The holds of a body.
pub(super) trait Holder {
    /// Fails if a lock is lost.
    fn check(&self) -> Result<(), LockError>;

    /// Waits until a lock is lost. The future keeps nothing held.
    fn lost(&self) -> Lost;

    /// Returns the hold around these if they are a visit of it.
    fn around(&self) -> Option<&Arc<Node>>;

    /// Returns the scope of the current call with these holds in it. No reference to it outlives the holds.
    fn scope(&self) -> Scope;

    /// Returns the span for the body, unless the body is to stay in the present one.
    fn span(&self) -> Option<Arc<HoldSpan>>;

    /// Ends the holds after the body.
    fn finish(self) -> Finishing;

    /// Makes these holds a part of the current call until the returned value is dropped. A visit needs no scope of its own
    /// before the body has one.
    #[inline(always)]
    fn enter<'a>(&self, own: &'a mut Option<Scope>) -> Entered<'a> {
        if own.is_none()
            && let Some(entered) = self.around().and_then(scope::visit)
        {
            return entered;
        }
        scope::enter(own.get_or_insert_with(|| self.scope()))
    }
}

impl Holder for Holds {
    fn check(&self) -> Result<(), LockError> {
        self.iter().try_for_each(|hold| hold.tenure().check())
    }

    fn lost(&self) -> Lost {
        let lost = |hold: &Hold| -> Lost {
            let tenure = hold.tenure().clone();
            Box::pin(async move { tenure.lost().await })
        };
        match &self[..] {
            [hold] => lost(hold),
            holds => {
                let any = select_all(holds.iter().map(lost));
                Box::pin(async { any.await.0 })
            }
        }
    }

    fn around(&self) -> Option<&Arc<Node>> {
        match &self[..] {
            [hold] => hold.around(),
            _ => None,
        }
    }

    fn scope(&self) -> Scope {
        scope_within(self)
    }

    fn span(&self) -> Option<Arc<HoldSpan>> {
        span_around(self)
    }

    fn finish(self) -> Finishing {
        finish(self)
    }
}

/// The holds of a guard that outlives the body.
impl Holder for &Holds {
    fn check(&self) -> Result<(), LockError> {
        Holds::check(self)
    }

    fn lost(&self) -> Lost {
        Holds::lost(self)
    }

    fn around(&self) -> Option<&Arc<Node>> {
        Holds::around(self)
    }

    fn scope(&self) -> Scope {
        Holds::scope(self)
    }

    fn span(&self) -> Option<Arc<HoldSpan>> {
        Holds::span(self)
    }

    fn finish(self) -> Finishing {
        Finishing::nothing()
    }
}
