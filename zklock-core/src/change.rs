//! Waits for changes of a state that several tasks share.

use std::pin::pin;

use tokio::sync::Notify;

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
