//! Work that blocks, on threads for which neither the client nor its end has to wait.

use std::io;
use std::thread;

use tokio::sync::Mutex;
#[cfg(feature = "tls")]
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::oneshot::{self, Receiver};

/// Work that keeps at most one thread at a time, however often it is needed and however long it takes.
pub(super) struct Single<T>(Mutex<Option<Receiver<T>>>);

impl<T> Default for Single<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Send + 'static> Single<T> {
    /// Does work on a thread of this name, or waits for the work that is under way there, and returns its outcome.
    pub(super) async fn outcome(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        done(&mut *self.0.lock().await, name, work).await
    }

    /// Does work on a thread of this name, and returns its outcome. Returns `None`, without a wait, while earlier work is
    /// under way there.
    #[cfg(feature = "tls")]
    pub(super) async fn outcome_if_idle(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<io::Result<T>> {
        let mut slot = self.0.try_lock().ok()?;
        if let Some(Err(TryRecvError::Empty)) = slot.as_mut().map(Receiver::try_recv) {
            return None;
        }
        // The outcome of earlier work, which had no caller any more, is out of date.
        *slot = None;
        Some(done(&mut slot, name, work).await)
    }
}

/// Waits for the work that is under way, or that is started for that.
async fn done<T: Send + 'static>(
    slot: &mut Option<Receiver<T>>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let answer = match &mut *slot {
        Some(answer) => answer,
        empty => empty.insert(start(name, work)?),
    };
    let outcome = answer.await;
    *slot = None;
    outcome.map_err(|_| io::Error::other("it ended early"))
}

fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Receiver<T>> {
    let (reply, answer) = oneshot::channel();
    thread::Builder::new().name(name.to_owned()).spawn(move || reply.send(work()).ok())?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use futures_util::FutureExt;
    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Returns work that goes on until the sender is dropped, and then returns this value.
    fn blocked(value: u8) -> (Sender<()>, impl FnOnce() -> u8 + Send) {
        let (go_on, waits) = channel::<()>();
        (go_on, move || {
            waits.recv().ok();
            value
        })
    }

    #[tokio::test]
    async fn a_call_takes_the_outcome_of_the_work_that_an_earlier_call_has_left_behind() {
        let single = Single::default();
        let (go_on, work) = blocked(1);
        assert!(single.outcome("test", work).now_or_never().is_none());
        assert!(single.outcome("test", || 2).now_or_never().is_none());
        drop(go_on);
        assert_eq!(timeout(LONG, single.outcome("test", || 3)).await.unwrap().unwrap(), 1);
        assert_eq!(timeout(LONG, single.outcome("test", || 4)).await.unwrap().unwrap(), 4);
    }

    #[cfg(feature = "tls")]
    #[tokio::test]
    async fn no_work_is_started_beside_work_that_is_under_way() {
        let single = Single::default();
        let (go_on, work) = blocked(1);
        let mut first = Box::pin(single.outcome_if_idle("test", work));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(matches!(single.outcome_if_idle("test", || 2).now_or_never(), Some(None)));
        // Without the call, its work is still under way.
        drop(first);
        assert!(matches!(single.outcome_if_idle("test", || 3).now_or_never(), Some(None)));
        drop(go_on);
        let next = async {
            loop {
                match single.outcome_if_idle("test", || 4).await {
                    Some(outcome) => return outcome,
                    None => tokio::task::yield_now().await,
                }
            }
        };
        assert_eq!(timeout(LONG, next).await.unwrap().unwrap(), 4);
    }

    #[tokio::test]
    async fn work_that_panics_leaves_the_place_to_the_next_one() {
        let single = Single::default();
        let failed = timeout(LONG, single.outcome("test", || panic!("expected by the test"))).await;
        assert_eq!(failed.unwrap().unwrap_err().to_string(), "it ended early");
        assert_eq!(timeout(LONG, single.outcome("test", || 1)).await.unwrap().unwrap(), 1);
    }
}
