//! An entry into a mutex that the call holds.

use std::sync::Arc;

use crate::lease::Tenure;

use super::entry::Again;
use super::node::Ties;
use super::scope::{admitted, leave_alone};
use super::sought::Sought;

/// An entry alone inside of a hold of a mutex.
///
/// It is as small as a pointer, because it takes less time to enter a lock again than to move a guard a few times. Generated
/// code has it without a guard, for a body that begins at once.
#[derive(Debug)]
pub(crate) struct Inside {
    /// The ties of the hold around it. `None` once it has ended.
    around: Option<Arc<Ties>>,
}

impl Inside {
    /// Enters a mutex again if the current call holds it, and nothing is in the way.
    ///
    /// The lease clock is not read here: the body's first step is preceded by a reading, which would only repeat this one.
    #[inline]
    pub(super) fn enter(sought: Sought<'_>) -> Option<Self> {
        // A mutex is entered alone.
        let (ties, _) = admitted(sought, Tenure::is_unbroken)?;
        Self::admitted(ties)
    }

    /// Returns the entry that the hold with these ties has admitted, unless that hold has ended meanwhile.
    #[inline]
    pub(super) fn admitted(ties: Arc<Ties>) -> Option<Self> {
        let is_over = ties.node.is_over();
        let inside = Self::by(ties);
        (!is_over).then_some(inside)
    }

    /// Returns the entry that the hold with these ties has admitted.
    #[inline(always)]
    pub(super) fn by(ties: Arc<Ties>) -> Self {
        Self { around: Some(ties) }
    }

    /// Returns the ties of the hold around it.
    #[inline]
    pub(super) fn ties(&self) -> &Arc<Ties> {
        self.around.as_ref().expect(ONCE)
    }

    /// Returns its own ties, which it has from now on.
    pub(super) fn own_ties(&self) -> Arc<Ties> {
        let around = self.ties();
        around.node.visits.ties(|| around.of_visit())
    }

    /// Ends it, and returns its own ties, if it has some, and those of the hold around it.
    pub(super) fn leave_ties(mut self) -> (Option<Arc<Ties>>, Arc<Ties>) {
        let around = self.around.take().expect(ONCE);
        let own = around.node.visits.end();
        match &own {
            Some(own) => own.node.end(),
            None => around.node.gate.leave(Again::Alone),
        }
        (own, around)
    }

    /// Ends it, and returns the ties that end with it, if they are of no use for the next entry.
    #[inline(always)]
    pub(super) fn leave(&mut self) -> Option<Arc<Ties>> {
        let around = self.around.take()?;
        match around.node.visits.is_seen() {
            true => leave_seen(around),
            false => leave_alone(around),
        }
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        drop(self.leave());
    }
}

/// Ends the present entry inside of the hold with these ties, to which others may refer.
#[inline(never)]
fn leave_seen(around: Arc<Ties>) -> Option<Arc<Ties>> {
    let Some(own) = around.node.visits.end() else { return leave_alone(around) };
    own.node.end();
    drop(around);
    Some(own)
}

const ONCE: &str = "an entry ends once";
