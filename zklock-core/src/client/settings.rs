//! A configuration that has been validated, and the warning about long waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::change::Mutex;
use crate::session::Opening;

/// A configuration that has been validated.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) opening: Opening,
    /// The chroot and the namespace: the prefix of every path.
    pub(crate) root: String,
    pub(crate) default_wait: Duration,
    pub(crate) warn_after: Duration,
    pub(crate) warnings: Arc<WarningBound>,
    pub(crate) identity: Arc<str>,
    pub(crate) queueing: Queueing,
    pub(crate) release: Release,
}

/// The bounds within which a client keeps a lock for its own calls while other clients wait for it.
///
/// The calls of one client share one place in the queue of the lock, and are served in the order in which they came. A
/// release passes the lock on to the client's next call, without a request.
///
/// Clients are served in the order in which they entered the queue. While another client waits, a client keeps the
/// lock until one of the bounds is reached, and then goes to the tail of the queue. A body that runs when the time
/// is over ends first. While no other client waits, the only bound is 32,768 grants under one node.
///
/// The calls for the same number of permits of a semaphore share one place. The bounds apply to the permits of such
/// a place in any case, because the holder of a permit does not know whether others wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Queueing {
    /// The number of grants, at least 1.
    pub turns: u32,
    /// The time. With zero, a client gives the lock up after each grant once it knows that others wait.
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    pub within: Duration,
}

impl Queueing {
    /// Returns the bounds of `turns` grants and the time `within`.
    ///
    /// Zero turns are invalid, and refused when the client is made.
    pub const fn new(turns: u32, within: Duration) -> Self {
        Self { turns, within }
    }
}

impl Default for Queueing {
    /// Returns 64 grants and 50 ms.
    fn default() -> Self {
        Self::new(64, Duration::from_millis(50))
    }
}

/// The end of a release that no caller awaits: after a body in `run` or in an annotated function.
///
/// [`Guard::release`](crate::Guard::release) always waits until another call of the client has the lock, or the
/// servers have released it. The drop of a guard never waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Release {
    /// The call returns when the request that releases the lock has been handed to the connection. For other
    /// clients, the lock is taken for as long as the request travels; if the connection breaks, until it is back.
    ///
    /// If the process ends right after the call, the request normally still arrives. Only
    /// [`Client::shutdown`](crate::Client::shutdown) makes sure of that.
    #[default]
    Background,
    /// The call returns when the servers have acknowledged the release.
    Acknowledged,
}

/// Bounds the warnings of a client about long waits: thousands of lines at once would delay its thread.
#[derive(Debug, Default)]
pub(crate) struct WarningBound(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    begun: Option<Instant>,
    lines: u32,
    left_out: u32,
}

impl WarningBound {
    /// Returns the number of lines that were left out since the last one, or `None` if this one is to be left out.
    fn pass(&self, now: Instant) -> Option<u32> {
        let mut window = self.0.lock();
        if window.begun.is_none_or(|begun| now.duration_since(begun) >= WINDOW) {
            (window.begun, window.lines) = (Some(now), 0);
        }
        if window.lines >= LINES {
            window.left_out += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

/// At most this many warnings about long waits come within one window.
const LINES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(10);

/// Logs waits that are long, once each, by the timer of the task that watches their deadlines.
///
/// The calls of a local queue share a warning, which is about the call that waits longest. The next warning comes no sooner
/// than the same time later.
pub(crate) struct WaitWarning {
    after: Duration,
    bound: Arc<WarningBound>,
    last: Option<Warned>,
}

struct Warned {
    /// The beginning of the wait.
    since: Instant,
    at: Instant,
}

impl WaitWarning {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { after: settings.warn_after, bound: settings.warnings.clone(), last: None }
    }

    /// Has a wait logged that began then, if it is long by now and was not logged: `log` gets its length and the number of
    /// lines that were left out. Returns when to ask again, at the latest.
    pub(crate) fn check(&mut self, since: Instant, log: impl FnOnce(Duration, u32)) -> Option<Instant> {
        let now = Instant::now();
        if self.due(since).is_some_and(|due| due <= now) {
            self.last = Some(Warned { since, at: now });
            if let Some(left_out) = self.bound.pass(now) {
                log(now.duration_since(since), left_out);
            }
        }
        self.due(since).into_iter().chain(now.checked_add(self.after)).min()
    }

    /// Returns when the wait that began then is to be logged.
    fn due(&self, since: Instant) -> Option<Instant> {
        match &self.last {
            Some(last) if last.since == since => None,
            Some(last) => since.max(last.at).checked_add(self.after),
            None => since.checked_add(self.after),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_wait_is_logged_once_and_the_next_no_sooner_than_as_long_after_the_last_line() {
        let since = Instant::now();
        let at = |seconds| since + seconds * SECOND;
        let due = |after, last, since| WaitWarning { after, bound: Arc::default(), last }.due(since);
        let warned = || Some(Warned { since, at: at(30) });
        assert_eq!(due(30 * SECOND, None, since), Some(at(30)));
        assert_eq!(due(30 * SECOND, warned(), since), None);
        assert_eq!(due(30 * SECOND, warned(), at(20)), Some(at(60)));
        assert_eq!(due(30 * SECOND, warned(), at(70)), Some(at(100)));
        assert_eq!(due(Duration::MAX, None, since), None, "there is no limit");
    }

    #[test]
    fn warnings_are_bounded_and_those_left_out_are_counted() {
        let (bound, now) = (WarningBound::default(), Instant::now());
        let passed = (0..15).filter_map(|_| bound.pass(now)).collect::<Vec<_>>();
        assert_eq!(passed, [0; LINES as usize]);
        assert_eq!((bound.pass(now + WINDOW), bound.pass(now + WINDOW)), (Some(5), Some(0)));
    }
}
