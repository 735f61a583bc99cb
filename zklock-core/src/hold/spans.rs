//! The part of a hold in the span of its lock.

use std::mem;
use std::sync::{Arc, OnceLock};

use crate::events::HoldSpan;

use super::Hold;
use super::entry::Entry;
use super::spanned::Closing;
use super::stake::Stake;
use super::state::{Standing, State, Tied};

impl Hold {
    /// Returns the span for a body under this hold, unless the body is to stay in the present one.
    #[inline]
    pub(super) fn span_for_body(&self) -> Option<Arc<HoldSpan>> {
        let around = self.state.ties().ok()?;
        self.own.get().unwrap_or(around).span.for_body()
    }

    /// Gives up this hold's part in its span, so that the hold can be moved to the client's thread, where the span must
    /// not be closed.
    pub(crate) fn give_up_span(&mut self) -> Option<Closing> {
        if let State::Bare(_) = self.state {
            return None;
        }
        // The ties of the hold around this one have a part in the span too.
        let own = self.own_ties().clone();
        let first = |stake, entry| {
            let ties = own.clone();
            State::Tied(Tied { ties, stake, entry, standing: Standing::First })
        };
        (self.state, self.own) = match mem::replace(&mut self.state, State::Ended) {
            State::Tied(Tied { ties, stake, entry, standing }) => {
                if let Standing::Inside(again) = standing {
                    drop(ties.node.end_visit(again));
                }
                (first(stake, entry), OnceLock::new())
            }
            State::Inside(inside) => {
                inside.make_room();
                (first(Stake::default(), Entry::Mutex), OnceLock::new())
            }
            other => (other, mem::take(&mut self.own)),
        };
        own.span.give_up()
    }
}
