//! A lease whose state a test sets.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use super::tenancy::{Handle, Look, Ready};

/// A lease whose state a test sets.
#[derive(Clone, Debug)]
pub(super) struct Lease(Rc<Cell<Look>>);

impl Handle for Lease {
    fn look(&self) -> Look {
        self.0.get()
    }
}

impl Lease {
    pub(super) fn new() -> Self {
        Self(Rc::new(Cell::new(Look { ready: Ready::Now, is_writing: false, company: None })))
    }

    pub(super) fn becomes(&self, ready: Ready) {
        self.0.set(Look { ready, ..self.0.get() });
    }

    pub(super) fn writes(&self, is_writing: bool) {
        self.0.set(Look { is_writing, ..self.0.get() });
    }

    pub(super) fn meets(&self, company: Instant) {
        self.0.set(Look { company: Some(company), ..self.0.get() });
    }

    /// Returns the number of claims to this lease, this one included.
    pub(super) fn claims(&self) -> usize {
        Rc::strong_count(&self.0)
    }
}
