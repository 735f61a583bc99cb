//! A state that several threads share, and waits for its changes.

use std::pin::pin;
use std::sync::{self, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A mutex that stays usable after a thread has panicked while it held it.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes all tasks that wait for a change.
#[derive(Debug, Default)]
pub(crate) struct Signal(Notify);

impl Signal {
    /// Tells of a change that has been made.
    pub(crate) fn notify(&self) {
        self.0.notify_waiters();
    }

    /// Waits until `look` finds an answer. It looks at once, and again after each change.
    ///
    /// Dropping the future loses nothing.
    pub(crate) async fn until<T>(&self, look: impl Fn() -> Option<T>) -> T {
        loop {
            let mut told = pin!(self.0.notified());
            // Registered before the look, so that no change after the look is missed.
            told.as_mut().enable();
            if let Some(answer) = look() {
                return answer;
            }
            told.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use futures_lite::future::block_on;

    use super::*;

    /// Each round has another order of the threads.
    const ROUNDS: usize = if cfg!(soak) { 10_000 } else { 1_000 };

    #[test]
    fn no_change_is_missed_that_is_made_while_a_task_begins_to_wait() {
        for _ in 0..ROUNDS {
            let shared = Arc::new((Signal::default(), AtomicBool::new(false)));
            let changes = shared.clone();
            let change = thread::spawn(move || {
                changes.1.store(true, Ordering::Relaxed);
                changes.0.notify();
            });
            let (signal, is_changed) = &*shared;
            block_on(signal.until(|| is_changed.load(Ordering::Relaxed).then_some(())));
            change.join().unwrap();
        }
    }
}
