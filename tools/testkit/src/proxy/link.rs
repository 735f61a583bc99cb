//! The link between all clients and the server, and its faults.

use std::time::Duration;

use tokio::time::Instant;

/// The direction in which frames travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From clients to the server.
    ToServer,
    /// From the server to clients.
    ToClient,
    /// Both directions.
    Both,
}

/// The faults of the link; by default there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) to_server: Lane,
    pub(super) to_client: Lane,
    /// Whether new connections are reset.
    pub(super) refuses: bool,
}

impl Link {
    /// Changes the lanes of a direction.
    pub(super) fn change(&mut self, direction: Direction, change: impl Fn(&mut Lane)) {
        if direction != Direction::ToClient {
            change(&mut self.to_server);
        }
        if direction != Direction::ToServer {
            change(&mut self.to_client);
        }
    }

    /// Returns whether any direction is blackholed, so that no request can be answered.
    pub(super) fn is_blackholed(&self) -> bool {
        self.to_server.is_blackhole || self.to_client.is_blackhole
    }
}

/// The faults of one direction of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lane {
    /// Whether nothing arrives.
    pub(super) is_blackhole: bool,
    pub(super) delay: Duration,
}

/// The time at which a parcel arrives, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Now,
    At(Instant),
    /// Not before the link changes.
    Unknown,
}

impl Lane {
    /// Returns the arrival of a parcel that was sent at `sent` and is delayed by `longer` than others.
    pub(super) fn arrival(&self, sent: Instant, longer: Duration, now: Instant) -> Arrival {
        let due = sent.checked_add(self.delay).and_then(|due| due.checked_add(longer));
        match due {
            _ if self.is_blackhole => Arrival::Unknown,
            // A time beyond the range of the clock never comes.
            None => Arrival::Unknown,
            Some(due) if due <= now => Arrival::Now,
            Some(due) => Arrival::At(due),
        }
    }
}
