//! The lease of a permit.

use std::time::Instant;

use crate::cohort::tenancy::{Handle, Look};

/// The lease of a permit, which always has company: others wait at the gate, which its holders do not see.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq, Hash))]
pub(super) struct Permit<L> {
    lease: L,
    since: Instant,
}

impl<L> Permit<L> {
    pub(super) fn new(lease: L, now: Instant) -> Self {
        Self { lease, since: now }
    }

    pub(super) fn lease(&self) -> &L {
        &self.lease
    }

    pub(super) fn into_lease(self) -> L {
        self.lease
    }
}

impl<L: Handle> Handle for Permit<L> {
    fn look(&self) -> Look {
        Look { company: Some(self.since), ..self.lease.look() }
    }
}
