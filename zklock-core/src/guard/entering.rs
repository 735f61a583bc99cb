//! The entry into a lock, which ends with its guard.

use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
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
        if let State::New { door, client, wait } = self.state {
            self.state = State::Ended;
            match door.begin(client, wait) {
                ControlFlow::Break(holds) => return Poll::Ready(Ok(Guard::new(holds))),
                ControlFlow::Continue(waiting) => self.state = State::Waiting(waiting),
            }
        }
        self.wait(context)
    }
}

impl<K> Entering<'_, K> {
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<Result<Guard<K>, LockError>> {
        let State::Waiting(waiting) = &mut self.state else { panic!("a future is not polled after its end") };
        let entered = ready!(waiting.as_mut().poll(context));
        self.state = State::Ended;
        Poll::Ready(entered.map(Guard::new))
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;
    use std::pin::pin;

    use futures_util::{FutureExt, poll};

    use crate::client::connected;

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
