//! Calls in a random order, polled by an executor that chooses at random.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::thread::Thread;
use std::time::Duration;

use zklock::{Client, FencingToken, Guard, LockError};
use zklock_testkit::{How, Proxy};

use crate::support::random::Random;
use crate::support::{Space, polled};

/// The number of schedules on each server.
const SEEDS: u64 = if cfg!(soak) { 12 } else { 4 };
/// The number of threads, each with an executor of its own.
const THREADS: u64 = 3;
const TASKS: u64 = 12;
/// A time that is much longer than one schedule takes.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn calls_exclude_each_other_in_any_order_and_leave_nothing() {
    for seed in 1..=SEEDS {
        let space = Space::new();
        let (proxy, shared) = space.proxied().await;
        let proxy = Arc::new(proxy);
        let clients = [shared.clone(), shared, space.client().await];
        let desk = Arc::new(Desk::default());
        let (ended, ends) = mpsc::channel();
        for (thread, client) in (0..THREADS).zip(clients.clone()) {
            let (desk, ended, random) = (desk.clone(), ended.clone(), Random::new(seed * THREADS + thread));
            thread::spawn(move || {
                run_tasks(&client, &desk, random);
                ended.send(()).ok();
            });
        }
        drop(ended);
        let is_over = Arc::new(AtomicBool::new(false));
        // Half of the schedules have no fault.
        let faults = (seed % 2 == 0).then(|| spawn_faults(proxy.clone(), Random::new(seed), is_over.clone()));
        let all = tokio::task::spawn_blocking(move || (0..THREADS).all(|_| ends.recv_timeout(LONG).is_ok()));
        assert!(all.await.unwrap(), "a thread of schedule {seed} failed, or does not end");
        is_over.store(true, Ordering::SeqCst);
        if let Some(faults) = faults {
            tokio::task::spawn_blocking(move || faults.join().unwrap()).await.unwrap();
        }
        assert!(desk.sections() > 100, "schedule {seed}: {} sections", desk.sections());
        for lock in LOCKS {
            space.until_empty(lock).await;
        }
    }
}

fn run_tasks(client: &Client, desk: &Arc<Desk>, mut random: Random) {
    let mut executor = Executor::new(random.fork());
    for _ in 0..TASKS {
        executor.spawn(desk.clone().work(client.clone(), random.fork()));
    }
    executor.run();
}

fn spawn_faults(proxy: Arc<Proxy>, mut random: Random, is_over: Arc<AtomicBool>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        while !is_over.load(Ordering::SeqCst) {
            // Slow enough for a reconnect in between, even on a busy machine.
            thread::sleep(Duration::from_millis(50 + random.below(150)));
            proxy.cut(How::Rst);
        }
    })
}

struct Executor {
    tasks: Vec<Task>,
    random: Random,
}

struct Task {
    future: Pin<Box<dyn Future<Output = ()>>>,
    woken: Arc<Woken>,
}

struct Woken {
    is_woken: AtomicBool,
    thread: Thread,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl Executor {
    fn new(random: Random) -> Self {
        Self { tasks: Vec::new(), random }
    }

    fn spawn(&mut self, task: impl Future<Output = ()> + 'static) {
        let woken = Woken { is_woken: AtomicBool::new(true), thread: thread::current() };
        self.tasks.push(Task { future: Box::pin(task), woken: Arc::new(woken) });
    }

    fn run(mut self) {
        while !self.tasks.is_empty() {
            let next = self.random.below(self.tasks.len() as u64) as usize;
            let task = &mut self.tasks[next];
            if !task.woken.is_woken.swap(false, Ordering::SeqCst) && !self.random.once_in(16) {
                self.rest();
                continue;
            }
            let waker = Waker::from(task.woken.clone());
            if task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                drop(self.tasks.swap_remove(next));
            }
            // Another thread gets ahead of this one, wherever it stands.
            if self.random.once_in(8) {
                thread::sleep(Duration::from_micros(self.random.below(300)));
            }
        }
    }

    /// Waits for a wake-up if no task is woken.
    fn rest(&self) {
        if !self.tasks.iter().any(|task| task.woken.is_woken.load(Ordering::SeqCst)) {
            thread::park_timeout(Duration::from_millis(1));
        }
    }
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

    async fn work(self: Arc<Self>, client: Client, mut random: Random) {
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

    async fn section(&self, lock: usize, weight: u32, random: &mut Random) {
        let section = Section::begin(&self.inside[lock], weight);
        for _ in 0..random.below(4) {
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
