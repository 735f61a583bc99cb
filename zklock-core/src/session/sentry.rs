//! The news that the watches of a held node bring: whether others came, whether a deletion would be noticed, and
//! whether the holder is asked to release.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::change::Signal;
use crate::queue::contender::is_numbered;

use super::requests::Children;

/// The data of a holder's node that asks the holder to release (Curator's `LockInternals.REVOKE_MESSAGE`).
pub(crate) const REVOKE: &[u8] = b"__REVOKE__";

/// The news of the watches of one contender.
#[derive(Debug, Default)]
pub(crate) struct Sentry {
    /// Since when other contenders may wait. Only a list that shows none resets it, because a watch tells only of
    /// the first one.
    company: Mutex<Option<Instant>>,
    /// Whether a deletion of the own node would be noticed soon, or cannot be noticed sooner.
    is_watched: AtomicBool,
    /// Whether others rely on the node.
    is_urged: AtomicBool,
    /// Whether somebody wants to know of requests to release.
    is_read: AtomicBool,
    /// Whether the holder is asked to release.
    is_asked: AtomicBool,
    /// Whether a request that deletes the node has been issued.
    is_leaving: AtomicBool,
    /// The last connection on which the node was seen to belong to the session.
    connection: AtomicU64,
    changed: Signal,
}

/// The latest list of a queue, as far as it tells of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// There is no list, or no watch tells of changes since.
    Unwatched,
    /// The list shows others, and a watch tells of changes.
    Others,
    /// The list shows no others, and a watch tells of the next one.
    Alone,
}

impl Seen {
    /// Returns what a list shows to the contender with the node `own`.
    pub(super) fn of(children: &Children, own: &str) -> Self {
        let mut others = children.names.iter().filter(|name| *name != own && is_numbered(name));
        if others.next().is_some() { Self::Others } else { Self::Alone }
    }
}

impl Sentry {
    /// Returns since when other contenders may wait.
    pub(crate) fn company(&self) -> Option<Instant> {
        *self.lock_company()
    }

    /// Returns whether a deletion of the own node would be noticed soon, or cannot be noticed sooner.
    pub(crate) fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Acquire)
    }

    /// Asks for a watch on the own node without delay, because others rely on the node.
    ///
    /// Returns whether that is news.
    pub(crate) fn urge(&self) -> bool {
        raise(&self.is_urged, &self.changed)
    }

    pub(super) fn is_urged(&self) -> bool {
        self.is_urged.load(Ordering::Acquire)
    }

    /// Asks for the data of the own node, because somebody wants to know of requests to release.
    pub(crate) fn read_data(&self) {
        raise(&self.is_read, &self.changed);
    }

    pub(super) fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Acquire)
    }

    /// Returns whether the holder is asked to release.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Acquire)
    }

    /// Takes note that a request that deletes the node has been issued.
    pub(super) fn note_leaving(&self) {
        raise(&self.is_leaving, &self.changed);
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Acquire)
    }

    /// Returns the last connection on which the node was seen to belong to the session.
    pub(crate) fn connection(&self) -> u64 {
        self.connection.load(Ordering::Acquire)
    }

    /// Takes note that the node was seen to belong to the session.
    pub(crate) fn note_seen(&self, connection: u64) {
        self.connection.fetch_max(connection, Ordering::AcqRel);
        self.changed.notify();
    }

    /// Takes note of the data of the own node.
    pub(crate) fn note_data(&self, data: &[u8]) {
        if data == REVOKE {
            raise(&self.is_asked, &self.changed);
        }
    }

    /// Waits until there are news.
    pub(crate) async fn until(&self, are_there: impl Fn(&Self) -> bool) {
        self.changed.until(|| are_there(self).then_some(())).await;
    }

    /// Begins with a list in which the contender was seen at the head of its queue.
    pub(super) fn begin(&self, list: Seen) {
        let mut company = self.lock_company();
        *company = (list != Seen::Alone).then(|| company.unwrap_or_else(Instant::now));
        drop(company);
        self.is_watched.fetch_or(list != Seen::Unwatched, Ordering::AcqRel);
        self.changed.notify();
    }

    pub(super) fn note_company(&self) {
        self.lock_company().get_or_insert_with(Instant::now);
        self.changed.notify();
    }

    pub(super) fn note_watch(&self, is_watched: bool) {
        self.is_watched.store(is_watched, Ordering::Release);
        self.changed.notify();
    }

    /// Takes note that another node has replaced the own one, so that the watches tell nothing.
    pub(crate) fn note_replacement(&self) {
        self.note_company();
        self.note_watch(false);
    }

    /// Takes note that the own node cannot be watched. A turn ends soon then, because there may be company.
    pub(super) fn note_unwatchable(&self) {
        self.note_company();
        self.note_watch(true);
    }

    /// Waits before a watch on the own node is requested, unless others rely on the node already. Most locks are
    /// released within [`MOMENT`], and the watch is not needed.
    pub(super) async fn rest(&self, pause: Duration) {
        timeout(pause, self.until(Self::is_urged)).await.ok();
    }

    fn lock_company(&self) -> MutexGuard<'_, Option<Instant>> {
        self.company.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sets a flag, and signals it the first time. Returns whether it is the first time.
fn raise(flag: &AtomicBool, changed: &Signal) -> bool {
    let is_first = !flag.swap(true, Ordering::AcqRel);
    if is_first {
        changed.notify();
    }
    is_first
}

/// The delay before the node of a holder is watched.
pub(super) const MOMENT: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_without_others_ends_the_time_of_those_that_wait() {
        let sentry = Sentry::default();
        sentry.begin(Seen::Others);
        let since = sentry.company().unwrap();
        sentry.begin(Seen::Others);
        assert_eq!(sentry.company(), Some(since));
        sentry.begin(Seen::Alone);
        assert_eq!(sentry.company(), None);
    }
}
