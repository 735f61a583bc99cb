//! Waits for changes of a state that several tasks share.

use std::pin::pin;
use std::sync::atomic::{Ordering, fence};

use once_cell::race::OnceBox;
use tokio::sync::Notify;

/// Wakes all tasks that wait for a change. It is small until a task waits for the first time, because most states of a
/// lock are never waited for.
#[derive(Debug, Default)]
pub(crate) struct Signal(OnceBox<Notify>);

impl Signal {
    /// Tells of a change that has been made.
    pub(crate) fn notify(&self) {
        // Either this sees the waiter, or the look of the waiter sees the change.
        fence(Ordering::SeqCst);
        if let Some(waiters) = self.0.get() {
            waiters.notify_waiters();
        }
    }

    /// Waits until `look` finds an answer. It looks at once, and again after each change.
    ///
    /// Dropping the future loses nothing.
    pub(crate) async fn until<T>(&self, look: impl Fn() -> Option<T>) -> T {
        if let Some(answer) = look() {
            return answer;
        }
        let waiters = self.0.get_or_init(Box::default);
        fence(Ordering::SeqCst);
        until(waiters, look).await
    }
}

/// Waits until `look` finds an answer. It looks at once, and again after each notification of all waiters by
/// `changed`, which comes after a change.
///
/// Dropping the future loses nothing.
pub(crate) async fn until<T>(changed: &Notify, look: impl Fn() -> Option<T>) -> T {
    loop {
        let mut told = pin!(changed.notified());
        // Registered before the look, so that no change after the look is missed.
        told.as_mut().enable();
        if let Some(answer) = look() {
            return answer;
        }
        told.await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use futures_lite::future::block_on;

    use super::*;

    /// Each round has another order of the threads.
    const ROUNDS: usize = if cfg!(soak) { 10_000 } else { 1_000 };

    #[test]
    fn no_change_is_missed_that_is_made_while_the_first_task_begins_to_wait() {
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
