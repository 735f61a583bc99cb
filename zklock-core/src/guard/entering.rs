//! The entry into a lock, which ends with its guard.

use std::marker::PhantomData;
use std::mem;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::client::Client;
use crate::error::LockError;
use crate::hold::{Door, Waiting};

use super::Guard;

/// Enters a lock, waiting for at most `wait`.
///
/// # Cancel safety
///
/// Dropping the future gives the place in line up.
#[inline]
pub(crate) fn enter<'a, K>(
    door: &'a Door,
    client: &'a Client,
    wait: Duration,
) -> impl Future<Output = Result<Guard<K>, LockError>> + use<'a, K> {
    Entering { state: State::New { door, client, wait }, kind: PhantomData }
}

/// The entry into a lock. Its first step is inlined, which that of an async function is not: to move the guard of a lock that
/// is entered again takes longer than to make it.
struct Entering<'a, K> {
    state: State<'a>,
    kind: PhantomData<fn() -> K>,
}

enum State<'a> {
    New { door: &'a Door, client: &'a Client, wait: Duration },
    Waiting(Waiting<'a>),
    Ended,
}

impl<K> Future for Entering<'_, K> {
    type Output = Result<Guard<K>, LockError>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waiting = match mem::replace(&mut self.state, State::Ended) {
            State::New { door, client, wait } => match door.begin(client, wait) {
                ControlFlow::Break(holds) => return Poll::Ready(Ok(Guard::new(holds))),
                ControlFlow::Continue(waiting) => waiting,
            },
            State::Waiting(waiting) => waiting,
            State::Ended => panic!("a future is not polled after its end"),
        };
        match wait_on(waiting, context) {
            ControlFlow::Break(entered) => Poll::Ready(entered),
            ControlFlow::Continue(waiting) => {
                self.state = State::Waiting(waiting);
                Poll::Pending
            }
        }
    }
}

/// Waits for a lock. Returns the wait if it goes on.
// By value, so that the compiler can keep the state of an entry that does not wait in registers.
#[inline(never)]
fn wait_on<'a, K>(
    mut waiting: Waiting<'a>,
    context: &mut Context<'_>,
) -> ControlFlow<Result<Guard<K>, LockError>, Waiting<'a>> {
    match waiting.as_mut().poll(context) {
        Poll::Ready(entered) => ControlFlow::Break(entered.map(Guard::new)),
        Poll::Pending => ControlFlow::Continue(waiting),
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;
    use std::pin::pin;

    use futures_util::{FutureExt, poll};

    use crate::client::connected;

    #[tokio::test]
    async fn a_wait_goes_on_until_it_has_the_lock_and_not_longer() {
        let (_server, client) = connected().await;
        let mutex = client.mutex("/a").unwrap();
        let held = mutex.lock().await.unwrap();
        let mut lock = pin!(mutex.lock());
        for _ in 0..2 {
            assert!(poll!(&mut lock).is_pending());
        }
        drop(held);
        assert!(lock.as_mut().await.unwrap().is_held());
        assert!(AssertUnwindSafe(lock).catch_unwind().await.is_err());
    }

    #[tokio::test]
    async fn a_wait_that_has_ended_does_not_enter_the_lock_again() {
        let (_server, client) = connected().await;
        let mutex = client.mutex("/a").unwrap();
        let held = mutex.lock().await.unwrap();
        let again = async {
            let mut lock = pin!(mutex.lock());
            assert!(poll!(&mut lock).is_ready());
            assert!(AssertUnwindSafe(lock).catch_unwind().await.is_err());
        };
        held.scope(again).await;
    }
}
