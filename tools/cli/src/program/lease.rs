//! The time for which a program's lock is certain to be held, on the [clock](super::clock).

use std::io;
use std::time::Duration;

use tokio::time::sleep;
use zklock::Held;

use super::clock;
use super::deadlines::{Deadlines, Margins};

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
        let (now, whole) = (clock::now()?, held.remaining());
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
            let now = clock::now()?;
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
