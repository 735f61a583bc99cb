//! The part of a hold in the span of its lock.

use std::sync::{Arc, OnceLock};

use crate::events::HoldSpan;

use super::Hold;
use super::spanned::Closing;
use super::state::{Standing, State};

impl Hold {
    /// Returns the span for a body under this hold, unless the body is to stay in the present one.
    #[inline]
    pub(super) fn span_for_body(&self) -> Option<Arc<HoldSpan>> {
        match &self.state {
            State::Tied(tied) => self.own.get().unwrap_or(&tied.ties).span.for_body(),
            State::Bare(_) | State::Ended => None,
        }
    }

    /// Gives up this hold's part in its span, so that the hold can be moved to the client's thread, where the span must
    /// not be closed.
    pub(crate) fn give_up_span(&mut self) -> Option<Closing> {
        if let State::Bare(_) = self.state {
            return None;
        }
        // The ties of the hold around this one have a part in the span too.
        let own = self.own_ties().clone();
        let State::Tied(tied) = &mut self.state else { return None };
        if let Standing::Inside(again) = tied.standing {
            drop(tied.ties.node.end_visit(again));
        }
        (tied.ties, tied.standing, self.own) = (own.clone(), Standing::First, OnceLock::new());
        own.span.give_up()
    }
}
