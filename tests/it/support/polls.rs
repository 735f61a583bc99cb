//! Futures that are dropped after a number of polls.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Polls a future at most this many times, each time after it was woken, and drops it if it is not done by then.
pub(crate) async fn polled<F: Future>(future: F, polls: u64) -> Option<F::Output> {
    let (mut future, mut left) = (pin!(future), polls);
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
