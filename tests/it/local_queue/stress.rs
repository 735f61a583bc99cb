//! Calls in a random order on several threads, dropped at any poll, while connections break and locks are lost.

use std::future::poll_fn;
use std::iter::repeat_n;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};
use zklock::{Client, FencingToken, Guard, LockError, Member};
use zklock_testkit::{How, Proxy};

use crate::events::Listener;
use crate::support::session_end::end_session;
use crate::support::{Space, lock, polled, soon};

const SEEDS: u64 = if cfg!(soak) { 12 } else { 4 };
const TASKS: usize = 12;
/// A time that is much longer than one schedule takes.
const LONG: Duration = Duration::from_secs(60);

/// The events that some attempt has in each schedule.
const TOLD: [&str; 9] = [
    "Queued",
    "Acquired",
    "TimedOut",
    "Cancelled",
    "Released",
    "PassedOn",
    "Elected",
    "Resigned",
    "Withdrawn",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Faults {
    Nothing,
    Cuts,
    /// Connections break, nodes are deleted, and sessions end.
    Losses,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn calls_exclude_each_other_in_any_order_and_leave_nothing_and_their_events_add_up() {
    for seed in 1..=SEEDS {
        let faults = [Faults::Nothing, Faults::Cuts, Faults::Losses][seed as usize % 3];
        let ends = timeout(LONG, run(Rng::with_seed(seed), faults)).await;
        ends.unwrap_or_else(|_| panic!("schedule {seed} with {faults:?} does not end"));
    }
}

async fn run(mut random: Rng, faults: Faults) {
    let (space, proxy, shared) = Space::with_proxy().await;
    let (listener, mut tasks) = (Listener::start(&shared), JoinSet::new());
    let desk = Arc::new(Desk { has_losses: faults == Faults::Losses, ..Desk::default() });
    // Two of three groups of tasks share the client that has the faults.
    for client in [shared.clone(), shared.clone(), space.client().await] {
        for client in repeat_n(client, TASKS) {
            let work = desk.clone().work(client, random.fork());
            tasks.spawn(restless(work, random.fork()));
        }
    }
    tokio::select! {
        _ = tasks.join_all() => {}
        () = strike((&space, &proxy, &shared), faults, random), if faults != Faults::Nothing => {}
    }
    let sections = desk.sections.load(Ordering::SeqCst);
    assert!(sections > 100, "{faults:?}: {sections} sections");
    if faults == Faults::Losses {
        let guard = lock(&shared, LOCKS[0]).await;
        space.delete_children(LOCKS[0]).await;
        soon(guard.lost()).await;
    }
    for queue in QUEUES {
        space.until_empty(queue).await;
    }
    shared.shutdown(LONG).await;
    drop(shared);
    let ledger = listener.end().await;
    ledger.check();
    assert!(ledger.count(&["Begun"]) >= TASKS * CALLS, "{ledger:?}");
    for name in TOLD.into_iter().chain((faults == Faults::Losses).then_some("Lost")) {
        assert!(ledger.count(&[name]) > 0, "no attempt has {name}: {ledger:?}");
    }
}

async fn strike((space, proxy, client): (&Space, &Proxy, &Client), faults: Faults, mut random: Rng) {
    loop {
        // Slow enough for a reconnect in between, even on a busy machine.
        sleep(Duration::from_millis(50 + random.u64(..150))).await;
        match random.u64(..8) {
            0..4 if faults == Faults::Losses => delete_a_child(space, QUEUES[random.usize(..4)]).await,
            4 if faults == Faults::Losses => {
                let server = space.server().address();
                if let Some(session) = client.session_id() {
                    spawn_blocking(move || end_session(server, session)).await.unwrap();
                }
            }
            _ => proxy.cut(How::Rst),
        }
    }
}

async fn delete_a_child(space: &Space, path: &str) {
    if let Some(child) = space.children(path).await.first() {
        space.outsider().await.delete(&space.full(&format!("{path}/{child}")), None).await.ok();
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

const LOCKS: [&str; 5] =
    ["/stress/mutex", "/stress/alone", "/stress/shelf", "/stress/room", "/stress/office"];
const QUEUES: [&str; 5] =
    ["/stress/mutex", "/stress/shelf", "/stress/office", "/stress/room/leases", "/stress/alone/leases"];
const MUTEX: usize = 0;
const ALONE: usize = 1;
const SHELF: usize = 2;
const ROOM: usize = 3;
const OFFICE: usize = 4;

const CALLS: usize = 40;
/// The weight of an exclusive holder in [`Desk::inside`], which is the most that may be inside.
const ALL: u32 = 1_000;
const READER: u32 = 1;
/// One of three permits.
const PERMIT: u32 = ALL / 3;

/// The holders, as the tasks of all threads know them.
#[derive(Default)]
pub(crate) struct Desk {
    /// Whether the next holder may enter before one that has lost its lock knows that.
    has_losses: bool,
    inside: [AtomicU32; LOCKS.len()],
    /// The last token of an exclusive holder of each lock.
    last: [Mutex<Option<FencingToken>>; LOCKS.len()],
    sections: AtomicUsize,
}

impl Desk {
    async fn work(self: Arc<Self>, client: Client, mut random: Rng) {
        for _ in 0..CALLS {
            let polls = if random.u32(..5) == 0 { random.u64(..5) } else { u64::MAX };
            if let Some(Err(error)) = polled(self.call(&client, &mut random.fork()), polls).await {
                assert!(self.has_losses || matches!(error, LockError::Timeout { .. }), "{error}");
            }
        }
    }

    pub(crate) async fn call(&self, client: &Client, random: &mut Rng) -> Result<(), LockError> {
        let wait = Duration::from_millis(if random.u32(..4) == 0 { 1 + random.u64(..8) } else { 60_000 });
        let (mutex, alone) = (client.mutex(LOCKS[MUTEX])?, client.exclusive(LOCKS[ALONE])?);
        let (shelf, room) = (client.rwlock(LOCKS[SHELF])?, client.semaphore(LOCKS[ROOM], 3)?);
        match random.u64(..12) {
            0 => match mutex.try_lock().await? {
                Some(guard) => self.hold(guard, (MUTEX, ALL), random).await,
                None => Ok(()),
            },
            1 | 2 => self.hold(mutex.lock_timeout(wait).await?, (MUTEX, ALL), random).await,
            3 => self.hold(alone.lock_timeout(wait).await?, (ALONE, ALL), random).await,
            4 => self.hold(shelf.write_timeout(wait).await?, (SHELF, ALL), random).await,
            5 => {
                let writer = shelf.write_timeout(wait).await?;
                self.section((SHELF, ALL), writer.fencing_token(), random).await;
                self.hold(writer.downgrade().await?, (SHELF, READER), random).await
            }
            6 => self.hold(shelf.read_timeout(wait).await?, (SHELF, READER), random).await,
            7 => self.hold(room.acquire_timeout(wait).await?, (ROOM, PERMIT), random).await,
            8 => self.hold(room.acquire_many_timeout(2, wait).await?, (ROOM, 2 * PERMIT), random).await,
            9 => {
                let writer = shelf.write_timeout(wait).await?;
                // The reader outlives the writer, whose lock is downgraded in the background.
                let reader = writer.scope(shelf.read()).await?;
                self.hold(writer, (SHELF, ALL), random).await?;
                self.hold(reader, (SHELF, READER), random).await
            }
            10 => {
                let members = [Member::mutex(LOCKS[MUTEX]), Member::read(LOCKS[SHELF])];
                let both = client.multi(members)?.lock_timeout(wait).await?;
                let token = |lock: usize| both.fencing_token(LOCKS[lock]).expect("it is a member");
                self.section((MUTEX, ALL), token(MUTEX), random).await;
                self.section((SHELF, READER), token(SHELF), random).await;
                end(both, random).await
            }
            _ => self.lead(client, wait, random).await,
        }
    }

    async fn lead(&self, client: &Client, wait: Duration, random: &mut Rng) -> Result<(), LockError> {
        let latch = client.election(LOCKS[OFFICE])?.latch();
        let term = latch.leadership_timeout(wait).await?;
        term.run(self.section((OFFICE, ALL), term.fencing_token(), random)).await?;
        match random.u64(..3) {
            0 => term.resign(),
            1 => latch.close().await?,
            _ => drop(latch),
        }
        Ok(())
    }

    async fn hold<K>(&self, guard: Guard<K>, place: (usize, u32), random: &mut Rng) -> Result<(), LockError> {
        self.section(place, guard.fencing_token(), random).await;
        end(guard, random).await
    }

    /// An exclusive holder has a greater token than all before.
    async fn section(&self, (lock, weight): (usize, u32), token: FencingToken, random: &mut Rng) {
        let section = Section::begin(&self.inside[lock], weight);
        assert!(
            self.has_losses || section.others + weight <= ALL,
            "{weight} enters beside {}",
            section.others
        );
        if weight == ALL {
            let last = self.last[lock].lock().unwrap().replace(token);
            assert!(self.has_losses || last < Some(token), "{last:?} came before {token}");
        }
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
    /// The weight of those that were inside when it began.
    others: u32,
}

impl<'a> Section<'a> {
    fn begin(inside: &'a AtomicU32, weight: u32) -> Self {
        Self { inside, weight, others: inside.fetch_add(weight, Ordering::SeqCst) }
    }
}

impl Drop for Section<'_> {
    fn drop(&mut self) {
        self.inside.fetch_sub(self.weight, Ordering::SeqCst);
    }
}

async fn end<K>(guard: Guard<K>, random: &mut Rng) -> Result<(), LockError> {
    match random.u64(..5) {
        0 => drop(guard),
        1 => guard.finish().await,
        2 => guard.release().await?,
        3 => guard.run(sleep(Duration::from_millis(2))).await?,
        // The release goes on although nobody waits for it.
        _ => drop(polled(guard.release(), random.u64(..3)).await),
    }
    Ok(())
}
