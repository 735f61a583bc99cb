//! The changes of a latch between leading and not leading.

use std::fmt;

use tokio::sync::watch;

use super::campaign::Position;

/// The changes of a latch between leading and not leading.
#[derive(Clone)]
pub struct LeaderChanges {
    position: watch::Receiver<Position>,
    /// The value returned last.
    told: Option<bool>,
}

impl LeaderChanges {
    pub(super) fn of(position: watch::Receiver<Position>) -> Self {
        Self { position, told: None }
    }

    /// Waits for the next change, and returns whether the latch leads after it; `None` after its end.
    ///
    /// The first call returns the present state at once. The end of leadership is reported before `None`.
    /// Changes in quick succession may be skipped in pairs.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn next(&mut self) -> Option<bool> {
        loop {
            // Cloned, because a look at the term may wake code of users in this thread.
            let position = self.position.borrow_and_update().clone();
            let (leads, is_over) = match position {
                Position::Leads(leadership) => (leadership.is_leading(), false),
                Position::Starts | Position::Follows | Position::Refused(_) => (false, false),
                Position::Closed => (false, true),
            };
            if self.told != Some(leads) {
                self.told = Some(leads);
                return Some(leads);
            }
            if is_over || self.position.changed().await.is_err() {
                return None;
            }
        }
    }
}

impl fmt::Debug for LeaderChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderChanges").field("told", &self.told).finish_non_exhaustive()
    }
}
