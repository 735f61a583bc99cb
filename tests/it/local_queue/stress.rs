//! Calls in a random order on several threads, dropped at any poll, while connections break.

use std::future::poll_fn;
use std::iter::repeat_n;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use zklock::{Client, FencingToken, Guard, LockError};
use zklock_testkit::{How, Proxy};

use crate::support::{Space, polled};

/// The number of schedules on each server.
const SEEDS: u64 = if cfg!(soak) { 12 } else { 4 };
/// The number of tasks that share a client.
const TASKS: usize = 12;
/// A time that is much longer than one schedule takes.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn calls_exclude_each_other_in_any_order_and_leave_nothing() {
    for seed in 1..=SEEDS {
        let (space, proxy, shared) = Space::with_proxy().await;
        let (desk, mut random, mut tasks) = (Arc::new(Desk::default()), Rng::with_seed(seed), JoinSet::new());
        // Two of three groups of tasks share the client whose connection breaks.
        for client in [shared.clone(), shared, space.client().await] {
            for client in repeat_n(client, TASKS) {
                let work = desk.clone().work(client, random.fork());
                tasks.spawn(restless(work, random.fork()));
            }
        }
        let all = async {
            tokio::select! {
                _ = tasks.join_all() => {}
                () = break_connections(&proxy, random), if seed % 2 == 0 => {}
            }
        };
        timeout(LONG, all).await.unwrap_or_else(|_| panic!("schedule {seed} does not end"));
        assert!(desk.sections() > 100, "schedule {seed}: {} sections", desk.sections());
        for lock in LOCKS {
            space.until_empty(lock).await;
        }
    }
}

async fn break_connections(proxy: &Proxy, mut random: Rng) {
    loop {
        // Slow enough for a reconnect in between, even on a busy machine.
        sleep(Duration::from_millis(50 + random.u64(..150))).await;
        proxy.cut(How::Rst);
    }
}

/// Polls a future also when nobody has woken it, and lets other threads get ahead of it, wherever it stands.
async fn restless<F: Future>(future: F, mut random: Rng) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        if random.u32(..16) == 0 {
            context.waker().wake_by_ref();
        }
        if random.u32(..8) == 0 {
            thread::sleep(Duration::from_micros(random.u64(..300)));
        }
        future.as_mut().poll(context)
    })
    .await
}

const LOCKS: [&str; 2] = ["/stress/mutex", "/stress/shelf"];

const CALLS: u32 = 40;
/// The count of one writer in [`Desk::inside`]. A reader counts one.
const WRITER: u32 = 1_000;

/// The holders, as the tasks of all threads know them.
#[derive(Default)]
struct Desk {
    inside: [AtomicU32; LOCKS.len()],
    /// The last token of an exclusive holder of each lock.
    last: [Mutex<Option<FencingToken>>; LOCKS.len()],
    sections: AtomicUsize,
}

impl Desk {
    fn sections(&self) -> usize {
        self.sections.load(Ordering::SeqCst)
    }

    async fn work(self: Arc<Self>, client: Client, mut random: Rng) {
        for _ in 0..CALLS {
            let polls = if random.u32(..5) == 0 { random.u64(..5) } else { u64::MAX };
            if let Some(Err(error)) = polled(self.call(&client, random.fork()), polls).await {
                assert!(matches!(error, LockError::Timeout { .. }), "{error}");
            }
        }
    }

    async fn call(&self, client: &Client, mut random: Rng) -> Result<(), LockError> {
        let wait = Duration::from_millis(if random.u32(..5) == 0 { 1 + random.u64(..8) } else { 60_000 });
        let (mutex, shelf) = (client.mutex(LOCKS[0])?, client.rwlock(LOCKS[1])?);
        match random.u64(..6) {
            0 => match mutex.try_lock().await? {
                Some(guard) => self.exclusive(0, guard, random).await,
                None => Ok(()),
            },
            1 | 2 => self.exclusive(0, mutex.lock_timeout(wait).await?, random).await,
            3 => self.exclusive(1, shelf.write_timeout(wait).await?, random).await,
            _ => {
                let guard = shelf.read_timeout(wait).await?;
                self.section(1, 1, &mut random).await;
                end(guard, random).await
            }
        }
    }

    /// Holds the lock alone, with a greater token than all before.
    async fn exclusive<L>(&self, lock: usize, guard: Guard<L>, mut random: Rng) -> Result<(), LockError> {
        let token = guard.fencing_token();
        let last = self.last[lock].lock().unwrap().replace(token);
        assert!(last < Some(token), "{last:?} came before {token}");
        self.section(lock, WRITER, &mut random).await;
        end(guard, random).await
    }

    async fn section(&self, lock: usize, weight: u32, random: &mut Rng) {
        let section = Section::begin(&self.inside[lock], weight);
        for _ in 0..random.u64(..4) {
            tokio::task::yield_now().await;
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

async fn end<L>(guard: Guard<L>, mut random: Rng) -> Result<(), LockError> {
    match random.u64(..4) {
        0 => drop(guard),
        1 => guard.finish().await,
        2 => guard.release().await?,
        // The release goes on although nobody waits for it.
        _ => drop(polled(guard.release(), random.u64(..3)).await),
    }
    Ok(())
}
