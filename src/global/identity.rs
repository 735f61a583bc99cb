//! The identity of a client that changes while others read it.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use zklock_core::ClientId;

/// The identity of a client, if there is one. An identity is never zero, so it fits into one atomic number.
pub(super) struct Identity(AtomicUsize);

impl Identity {
    pub(super) const fn none() -> Self {
        Self(AtomicUsize::new(0))
    }

    #[inline]
    pub(super) fn get(&self) -> Option<ClientId> {
        NonZero::new(self.0.load(Ordering::Acquire)).map(ClientId)
    }

    pub(super) fn set(&self, id: Option<ClientId>) {
        self.0.store(id.map_or(0, |ClientId(id)| id.get()), Ordering::Release);
    }
}
