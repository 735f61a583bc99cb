//! The work of a task: random calls at two locks, each of which checks that it excludes others.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use zklock::{Client, FencingToken, Guard, LockError};

use crate::support::polled;
use crate::support::random::Random;

pub(super) const LOCKS: [&str; 2] = ["/stress/mutex", "/stress/shelf"];

/// The number of calls of each task.
const CALLS: u32 = 40;
/// The count of one writer in [`Desk::inside`]. A reader counts one.
const WRITER: u32 = 1_000;

/// The holders, as the tasks of all threads know them.
#[derive(Default)]
pub(super) struct Desk {
    /// The holders of each lock.
    inside: [AtomicU32; LOCKS.len()],
    /// The last token of an exclusive holder of each lock.
    last: [Mutex<Option<FencingToken>>; LOCKS.len()],
    sections: AtomicUsize,
}

impl Desk {
    pub(super) fn sections(&self) -> usize {
        self.sections.load(Ordering::SeqCst)
    }

    /// Calls again and again.
    pub(super) async fn work(self: Arc<Self>, client: Client, mut random: Random) {
        for _ in 0..CALLS {
            let polls = if random.once_in(5) { random.below(5) } else { u64::MAX };
            let call = self.call(&client, random.fork());
            polled(call, polls).await;
        }
    }

    async fn call(&self, client: &Client, mut random: Random) {
        let wait = Duration::from_millis(if random.once_in(5) { 1 + random.below(8) } else { 60_000 });
        let (mutex, shelf) = (client.mutex(LOCKS[0]).unwrap(), client.rwlock(LOCKS[1]).unwrap());
        let ended = match random.below(6) {
            0 => match mutex.try_lock().await {
                Ok(Some(guard)) => self.exclusive((0, guard.fencing_token()), guard, random).await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            },
            1 | 2 => match mutex.lock_timeout(wait).await {
                Ok(guard) => self.exclusive((0, guard.fencing_token()), guard, random).await,
                Err(error) => Err(error),
            },
            3 => match shelf.write_timeout(wait).await {
                Ok(guard) => self.exclusive((1, guard.fencing_token()), guard, random).await,
                Err(error) => Err(error),
            },
            _ => match shelf.read_timeout(wait).await {
                Ok(guard) => {
                    self.section(1, 1, &mut random).await;
                    end(guard, random).await
                }
                Err(error) => Err(error),
            },
        };
        if let Err(error) = ended {
            assert!(matches!(error, LockError::Timeout { .. }), "{error}");
        }
    }

    /// Holds the lock alone, with a greater token than all before.
    async fn exclusive<L>(
        &self,
        (lock, token): (usize, FencingToken),
        guard: Guard<L>,
        mut random: Random,
    ) -> Result<(), LockError> {
        let last = self.last[lock].lock().unwrap().replace(token);
        assert!(last < Some(token), "{last:?} came before {token}");
        self.section(lock, WRITER, &mut random).await;
        end(guard, random).await
    }

    /// Is inside for some polls.
    async fn section(&self, lock: usize, weight: u32, random: &mut Random) {
        let section = Section::begin(&self.inside[lock], weight);
        for _ in 0..random.below(4) {
            yield_now().await;
        }
        drop(section);
        self.sections.fetch_add(1, Ordering::SeqCst);
    }
}

/// A section that ends when its future is dropped, too.
struct Section<'a> {
    inside: &'a AtomicU32,
    weight: u32,
}

impl<'a> Section<'a> {
    fn begin(inside: &'a AtomicU32, weight: u32) -> Self {
        let others = inside.fetch_add(weight, Ordering::SeqCst);
        let is_alone = if weight == WRITER { others == 0 } else { others < WRITER };
        assert!(is_alone, "{weight} enters beside {others}");
        Self { inside, weight }
    }
}

impl Drop for Section<'_> {
    fn drop(&mut self) {
        self.inside.fetch_sub(self.weight, Ordering::SeqCst);
    }
}

/// Ends a hold in one of the ways that there are.
async fn end<L>(guard: Guard<L>, mut random: Random) -> Result<(), LockError> {
    match random.below(4) {
        0 => drop(guard),
        1 => guard.finish().await,
        2 => guard.release().await?,
        // The release goes on although nobody waits for it.
        _ => drop(polled(guard.release(), random.below(3)).await),
    }
    Ok(())
}

async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
