//! The locks that a session holds, and the news of them.

mod roster;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::change;

pub(crate) use self::roster::Key;
pub(super) use self::roster::{News, Roster};

/// The locks that a session holds, and the news for the task that watches over them. That task is in `warden`.
#[derive(Default)]
pub(super) struct Ward {
    last: AtomicU64,
    roster: Mutex<Roster>,
    changed: Notify,
}

impl Ward {
    pub(super) fn roster(&self) -> MutexGuard<'_, Roster> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change, and tells the task if it has to know.
    pub(super) fn change(&self, change: impl FnOnce(&mut Roster) -> News) {
        let news = change(&mut self.roster());
        if news == News::Some {
            self.changed.notify_waiters();
        }
    }

    pub(super) async fn until(&self, is_true: impl Fn(&mut Roster) -> bool) {
        change::until(&self.changed, || is_true(&mut self.roster()).then_some(())).await;
    }

    /// Returns the key of the next lock.
    pub(super) fn next_key(&self) -> Key {
        Key(self.last.fetch_add(1, Ordering::Relaxed))
    }
}
