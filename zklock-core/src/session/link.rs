//! The state of a session's connection.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

/// The health of a client's session, as far as the client can know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// The session is connected.
    Connected,
    /// The connection is broken, or is restored but has not answered a request yet. The session may
    /// still be alive.
    Suspended,
    /// The session ended. The client opens the next one.
    Lost,
}

/// The connection's health, and its epoch: the number of changes observed so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) epoch: u64,
    pub(crate) health: Health,
}

/// The state of the connection, which is read without a lock: each step of a body under a lock asks for it.
#[derive(Debug)]
pub(super) struct Links {
    changes: watch::Sender<Link>,
    /// The present state, as [`Link::packed`] packs it.
    present: AtomicU64,
}

impl Links {
    pub(super) fn connected() -> Self {
        let link = Link { epoch: 0, health: Health::Connected };
        Self { present: AtomicU64::new(link.packed()), changes: watch::Sender::new(link) }
    }

    #[inline]
    pub(super) fn present(&self) -> Link {
        Link::unpacked(self.present.load(Ordering::Acquire))
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Link> {
        self.changes.subscribe()
    }

    /// Makes a change, and tells those who wait for changes if it returns `true`.
    pub(super) fn change(&self, change: impl FnOnce(&mut Link) -> bool) -> bool {
        self.changes.send_if_modified(|link| {
            let is_changed = change(link);
            self.present.store(link.packed(), Ordering::Release);
            is_changed
        })
    }
}

impl Link {
    fn packed(self) -> u64 {
        let health = match self.health {
            Health::Connected => 0,
            Health::Suspended => 1,
            Health::Lost => 2,
        };
        self.epoch << HEALTH_BITS | health
    }

    #[inline]
    fn unpacked(packed: u64) -> Self {
        let health = match packed & ((1 << HEALTH_BITS) - 1) {
            0 => Health::Connected,
            1 => Health::Suspended,
            _ => Health::Lost,
        };
        Self { epoch: packed >> HEALTH_BITS, health }
    }
}

/// The number of bits for the health in a packed link. The others are left for the epoch.
const HEALTH_BITS: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_present_state_is_that_of_the_last_change() {
        let links = Links::connected();
        for health in [Health::Suspended, Health::Connected, Health::Lost] {
            links.change(|link| {
                *link = Link { epoch: link.epoch + 1, health };
                true
            });
            assert_eq!(links.present(), *links.subscribe().borrow());
            assert_eq!(links.present().health, health);
        }
        assert_eq!(links.present().epoch, 3);
    }
}
