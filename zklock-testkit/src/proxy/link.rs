//! What is wrong with the link between all clients and the server.

use std::time::Duration;

use tokio::time::Instant;

/// Which way frames travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// What clients send.
    ToServer,
    /// What the server sends.
    ToClient,
    /// What either sends.
    Both,
}

/// What is wrong with the link; by default nothing is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) to_server: Lane,
    pub(super) to_client: Lane,
    pub(super) admission: Admission,
}

/// What becomes of new connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Admission {
    #[default]
    Accept,
    Refuse,
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

    /// Whether nothing at all can be asked and answered.
    pub(super) fn is_blackholed(&self) -> bool {
        [self.to_server, self.to_client].iter().any(|lane| lane.passage == Passage::Blackhole)
    }
}

/// What is wrong with one direction of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) passage: Passage,
    pub(super) delay: Duration,
    pub(super) pace: Pace,
}

/// Whether anything arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Passage {
    #[default]
    Open,
    Blackhole,
}

/// How fast bytes travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pace {
    #[default]
    Unlimited,
    /// At least one.
    BytesPerSecond(u64),
}

/// When a parcel arrives, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Now,
    At(Instant),
    /// Not before the link changes.
    Unknown,
}

/// How many portions of a frame a throttled link passes each second.
const PORTIONS_PER_SECOND: u64 = 20;

impl Lane {
    /// When something arrives that was sent then and travels so much longer than others.
    pub(super) fn arrival(&self, sent: Instant, longer: Duration, now: Instant) -> Arrival {
        let due = sent.checked_add(self.delay).and_then(|due| due.checked_add(longer));
        match (self.passage, due) {
            // What no clock can tell is never.
            (Passage::Blackhole, _) | (Passage::Open, None) => Arrival::Unknown,
            (Passage::Open, Some(due)) if due <= now => Arrival::Now,
            (Passage::Open, Some(due)) => Arrival::At(due),
        }
    }

    /// How many of so many bytes travel next, and how long that takes them.
    pub(super) fn portion(&self, bytes: usize) -> (usize, Duration) {
        match self.pace {
            Pace::Unlimited => (bytes, Duration::ZERO),
            Pace::BytesPerSecond(rate) => {
                let portion = bytes.min(usize::try_from(rate.div_ceil(PORTIONS_PER_SECOND)).unwrap_or(bytes));
                let nanos = (portion as u128 * 1_000_000_000).div_ceil(rate.into());
                (portion, Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_change_concerns_its_direction_only() {
        let cases = [
            (Direction::ToServer, [SECOND, Duration::ZERO]),
            (Direction::ToClient, [Duration::ZERO, SECOND]),
            (Direction::Both, [SECOND, SECOND]),
        ];
        for (direction, expected) in cases {
            let mut link = Link::default();
            link.change(direction, |lane| lane.delay = SECOND);
            assert_eq!([link.to_server.delay, link.to_client.delay], expected, "{direction:?}");
        }
    }

    #[test]
    fn parcels_arrive_after_their_delays_unless_there_is_a_blackhole() {
        let sent = Instant::now();
        let lane = |passage, delay| Lane { passage, delay, pace: Pace::Unlimited };
        let (open, hole) = (Passage::Open, Passage::Blackhole);
        let cases = [
            (lane(open, Duration::ZERO), Duration::ZERO, sent, Arrival::Now),
            (lane(open, SECOND), Duration::ZERO, sent, Arrival::At(sent + SECOND)),
            (lane(open, SECOND), SECOND, sent + SECOND, Arrival::At(sent + 2 * SECOND)),
            (lane(open, SECOND), SECOND, sent + 2 * SECOND, Arrival::Now),
            (lane(hole, Duration::ZERO), Duration::ZERO, sent + SECOND, Arrival::Unknown),
        ];
        for (lane, longer, now, expected) in cases {
            assert_eq!(lane.arrival(sent, longer, now), expected, "{lane:?} {longer:?}");
        }
    }

    #[test]
    fn a_throttled_link_passes_portions_at_its_pace() {
        let millis = Duration::from_millis;
        let cases = [
            (Pace::Unlimited, 5_000, (5_000, Duration::ZERO)),
            (Pace::BytesPerSecond(1_000), 5_000, (50, millis(50))),
            (Pace::BytesPerSecond(1_000), 10, (10, millis(10))),
            (Pace::BytesPerSecond(1), 10, (1, SECOND)),
        ];
        for (pace, bytes, expected) in cases {
            assert_eq!(Lane { pace, ..Lane::default() }.portion(bytes), expected, "{pace:?} {bytes}");
        }
    }
}
