//! The time for which a program's lock is certain to be held, and the times at which the program gets SIGTERM and SIGKILL.

use std::io;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use tokio::time::sleep;
use zklock::Held;

/// Returns the time since the machine was started, by the clock that all of its processes share, and that includes the
/// time during which the machine sleeps. The clock of locks is the same one.
pub(super) fn now() -> io::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_BOOTTIME)?.into())
}

/// The times at which a program gets its signals, by the clock of [`now`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadlines {
    pub(super) term: Duration,
    pub(super) kill: Duration,
}

impl Deadlines {
    pub(super) const LENGTH: usize = 16;

    pub(super) fn to_bytes(self) -> [u8; Self::LENGTH] {
        let nanos = |time: Duration| time.as_nanos() as u64;
        (u128::from(nanos(self.term)) << 64 | u128::from(nanos(self.kill))).to_ne_bytes()
    }

    pub(super) fn from_bytes(bytes: [u8; Self::LENGTH]) -> Self {
        let both = u128::from_ne_bytes(bytes);
        Self { term: Duration::from_nanos((both >> 64) as u64), kill: Duration::from_nanos(both as u64) }
    }
}

/// The distances of the two signals from the end of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Margins {
    /// The time between the signals.
    grace: Duration,
    /// The time between SIGKILL and the end of the lock: for the kernel to end the processes of the group, and for
    /// programs that guard others in the same way.
    slack: Duration,
}

impl Margins {
    /// Derives the margins from the longest time for which the lock was known to last, and the wish for a grace period.
    ///
    /// The lock must survive a server that is silent or restarts. The grace period therefore is at most a third.
    pub(super) fn new(whole: Duration, wish: Duration) -> Self {
        Self { grace: wish.min(whole / 3), slack: (whole / 10).min(LONGEST_SLACK) }
    }

    /// Returns the deadlines of a lock that ends at this time.
    pub(super) fn before(&self, end: Duration) -> Deadlines {
        let kill = end.saturating_sub(self.slack);
        Deadlines { term: kill.saturating_sub(self.grace), kill }
    }

    /// Returns the deadlines of a program that has to end now, and before the lock ends.
    pub(super) fn from(&self, now: Duration, end: Duration) -> Deadlines {
        let kill = self.before(end).kill.min(now + self.grace);
        Deadlines { term: now, kill }
    }
}

const LONGEST_SLACK: Duration = Duration::from_secs(1);

/// The time of a lock, and of the signals in front of its end.
#[derive(Clone)]
pub(super) struct Lease<'a> {
    held: &'a Held,
    grace: Duration,
    /// The longest time for which the lock was known to last.
    whole: Duration,
    /// The latest time at which the lock was known to end.
    end: Duration,
}

impl<'a> Lease<'a> {
    pub(super) fn new(held: &'a Held, grace: Duration) -> io::Result<Self> {
        let (now, whole) = (now()?, held.remaining());
        Ok(Self { held, grace, whole, end: now + whole })
    }

    /// Asks the lock for its time, and returns the deadlines in front of its end.
    pub(super) fn look(&mut self, now: Duration) -> Deadlines {
        let remaining = self.held.remaining();
        if !remaining.is_zero() {
            self.end = now + remaining;
            self.whole = self.whole.max(remaining);
        }
        self.deadlines()
    }

    /// Returns the deadlines as of the last look.
    pub(super) fn deadlines(&self) -> Deadlines {
        self.margins().before(self.end)
    }

    /// Returns the deadlines of a program that has to end now.
    pub(super) fn ending(&self, now: Duration) -> Deadlines {
        self.margins().from(now, self.end)
    }

    /// Asks the lock for its time, and returns the deadlines of a program that begins now, if it may begin.
    pub(super) fn beginning(&mut self, now: Duration) -> Option<Deadlines> {
        let deadlines = self.look(now);
        (now < deadlines.term && !self.held.remaining().is_zero()).then_some(deadlines)
    }

    /// Waits until a program would have to end.
    pub(super) async fn over(mut self) -> io::Result<()> {
        loop {
            let now = now()?;
            match self.look(now).term.checked_sub(now) {
                None | Some(Duration::ZERO) => return Ok(()),
                Some(left) => sleep(left).await,
            }
        }
    }

    /// The time between two looks at the clock.
    pub(super) fn interval(&self) -> Duration {
        (self.whole / 20).clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL)
    }

    fn margins(&self) -> Margins {
        Margins::new(self.whole, self.grace)
    }
}

/// The bounds of the time between two looks at the clock.
pub(super) const SHORTEST_INTERVAL: Duration = Duration::from_millis(20);
const LONGEST_INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_grace_period_is_in_front_of_the_slack_and_that_in_front_of_the_end() {
        let margins = Margins::new(s(22), s(5));
        assert_eq!(margins.before(s(100)), Deadlines { term: s(94), kill: s(99) });
    }

    #[test]
    fn a_short_lock_has_a_short_grace_period() {
        let margins = Margins::new(s(3), s(5));
        let deadlines = margins.before(s(100));
        assert_eq!(deadlines.kill, s(100) - s(3) / 10);
        assert_eq!(deadlines.kill - deadlines.term, s(1));
    }

    #[test]
    fn a_program_without_a_lock_gets_the_grace_period_but_not_beyond_the_end() {
        let margins = Margins::new(s(22), s(5));
        assert_eq!(margins.from(s(50), s(100)), Deadlines { term: s(50), kill: s(55) });
        assert_eq!(margins.from(s(97), s(100)), Deadlines { term: s(97), kill: s(99) });
        // An end that is over already leaves no time.
        assert_eq!(margins.from(s(97), s(90)).kill, s(89));
    }
}
