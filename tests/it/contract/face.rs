//! The locks that the contract covers, as one type.
//!
//! To add a lock, add a variant to each enum, an arm to each `match` and to `on`, and a value to the templates beside
//! this module.

use std::ops::Deref;
use std::time::Duration;

use tokio::task::JoinHandle;
use zklock::{
    Client, Election, LeaderLatch, Leadership, LockError, Mode, MultiGuard, MultiLock, Mutex, MutexGuard,
    Participant, ReadGuard, RwLock, Semaphore, SemaphoreGuard, WriteGuard,
};

use crate::support::{Space, soon, until, until_waiting_here};

/// A time that no test outlasts.
pub(crate) const LONG: Duration = Duration::from_secs(3_600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    Mutex,
    /// The mutex that is not reentrant.
    Exclusive,
    Reader,
    Writer,
    /// A semaphore with one permit.
    Semaphore,
    /// Two of three permits.
    Permits,
    /// Two mutexes at once.
    Multi,
    /// A candidate of an election, which does not run again after a loss.
    Leader,
}

impl Face {
    pub(crate) fn of(self, client: &Client, path: &str) -> Lock {
        match self {
            Self::Mutex => Lock::Mutex(client.mutex(path).unwrap()),
            Self::Exclusive => Lock::Mutex(client.exclusive(path).unwrap()),
            Self::Writer => Lock::Writer(client.rwlock(path).unwrap()),
            Self::Reader => Lock::Reader(client.rwlock(path).unwrap()),
            Self::Semaphore => Lock::Permits(client.semaphore(path, 1).unwrap(), 1),
            Self::Permits => Lock::Permits(client.semaphore(path, 3).unwrap(), 2),
            Self::Multi => {
                let lock = client.multi([format!("{path}-too"), path.to_owned()]).unwrap();
                Lock::Multi(lock, client.mutex(path).unwrap())
            }
            Self::Leader => Lock::Leader(client.election(path).unwrap().hold_down(LONG)),
        }
    }

    /// Waits until an outsider sees this many contenders, including the holder.
    pub(crate) async fn until_contending(self, space: &Space, path: &str, count: usize) {
        let expected = match self {
            // One of the waiters is inside the gate and has nodes among the permits too.
            Self::Exclusive | Self::Semaphore => vec![count.min(2), count.saturating_sub(1)],
            // The waiter takes the third permit, and waits with another node.
            Self::Permits => vec![2 * count.min(2), count.saturating_sub(1)],
            Self::Multi if count == 0 => vec![0, 0],
            Self::Mutex | Self::Reader | Self::Writer | Self::Multi | Self::Leader => vec![count],
        };
        let are_contending = || async {
            let mut nodes = Vec::new();
            for parent in self.parents(path).into_iter().take(expected.len()) {
                nodes.push(space.children(&parent).await.len());
            }
            nodes == expected
        };
        until(are_contending, "all contenders are in the queue").await;
    }

    pub(crate) async fn until_waiting(self, space: &Space, path: &str, client: &Client) {
        self.until_contending(space, path, 2).await;
        // A server names no watches on a list, as those who wait for permits have.
        if !matches!(self, Self::Exclusive | Self::Semaphore | Self::Permits) {
            until(async || space.is_watching(client, path), "the client watches the one in front").await;
        }
    }

    pub(crate) fn rival(self) -> Self {
        if self == Self::Reader { Self::Writer } else { self }
    }

    pub(crate) fn mode(self) -> Mode {
        match self {
            Self::Mutex | Self::Exclusive | Self::Multi => Mode::Exclusive,
            Self::Reader => Mode::Read,
            Self::Writer => Mode::Write,
            Self::Semaphore | Self::Permits => Mode::Permit,
            Self::Leader => Mode::Leader,
        }
    }

    /// Returns the parents of all nodes of contenders. Holders have theirs below the first one.
    pub(crate) fn parents(self, path: &str) -> Vec<String> {
        match self {
            Self::Mutex | Self::Reader | Self::Writer | Self::Leader => vec![path.to_owned()],
            Self::Multi => vec![path.to_owned(), format!("{path}-too")],
            Self::Exclusive | Self::Semaphore | Self::Permits => {
                vec![format!("{path}/leases"), format!("{path}/locks")]
            }
        }
    }

    /// Returns the parent of the nodes that the lock stands on.
    pub(crate) fn parent_of_nodes(self, path: &str) -> String {
        self.parents(path).swap_remove(0)
    }

    /// Asserts that one holder has the lock, and that nobody waits.
    pub(crate) async fn assert_held_once(self, space: &Space, path: &str) {
        let nodes = space.children(&self.parent_of_nodes(path)).await;
        assert_eq!(nodes.len(), if self == Self::Permits { 2 } else { 1 }, "{nodes:?}");
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Lock {
    Mutex(Mutex),
    Reader(RwLock),
    Writer(RwLock),
    /// The semaphore, and the number of permits that each call takes.
    Permits(Semaphore, u32),
    /// The multi-lock, and its first member.
    Multi(MultiLock, Mutex),
    /// Each call runs a candidate of its own.
    Leader(Election),
}

impl Lock {
    pub(crate) async fn lock(&self) -> Result<Held, LockError> {
        match self {
            Self::Mutex(lock) => lock.lock().await.map(Held::Mutex),
            Self::Reader(lock) => lock.read().await.map(Held::Reader),
            Self::Writer(lock) => lock.write().await.map(Held::Writer),
            Self::Permits(lock, permits) => lock.acquire_many(*permits).await.map(Held::Permits),
            Self::Multi(lock, _) => lock.lock().await.map(Held::Multi),
            Self::Leader(election) => {
                let latch = election.clone().latch();
                latch.leadership().await.map(|term| Held::Leader(latch, term))
            }
        }
    }

    pub(crate) async fn lock_timeout(&self, wait: Duration) -> Result<Held, LockError> {
        match self {
            Self::Mutex(lock) => lock.lock_timeout(wait).await.map(Held::Mutex),
            Self::Reader(lock) => lock.read_timeout(wait).await.map(Held::Reader),
            Self::Writer(lock) => lock.write_timeout(wait).await.map(Held::Writer),
            Self::Permits(lock, permits) => {
                lock.acquire_many_timeout(*permits, wait).await.map(Held::Permits)
            }
            Self::Multi(lock, _) => lock.lock_timeout(wait).await.map(Held::Multi),
            Self::Leader(election) => {
                let latch = election.clone().latch();
                latch.leadership_timeout(wait).await.map(|term| Held::Leader(latch, term))
            }
        }
    }

    pub(crate) async fn try_lock(&self) -> Result<Option<Held>, LockError> {
        Ok(match self {
            Self::Mutex(lock) => lock.try_lock().await?.map(Held::Mutex),
            Self::Reader(lock) => lock.try_read().await?.map(Held::Reader),
            Self::Writer(lock) => lock.try_write().await?.map(Held::Writer),
            Self::Permits(lock, permits) => lock.try_acquire_many(*permits).await?.map(Held::Permits),
            Self::Multi(lock, _) => lock.try_lock().await?.map(Held::Multi),
            Self::Leader(election) => {
                let latch = election.clone().latch();
                latch.settled().await?;
                match latch.current() {
                    Some(term) => Some(Held::Leader(latch, term)),
                    None => latch.close().await.map(|()| None)?,
                }
            }
        })
    }

    pub(crate) async fn run<F: Future>(&self, body: F) -> Result<F::Output, LockError> {
        match self {
            Self::Mutex(lock) => lock.run(async |_| body.await).await,
            Self::Reader(lock) => lock.run_read(async |_| body.await).await,
            Self::Writer(lock) => lock.run_write(async |_| body.await).await,
            Self::Permits(..) | Self::Leader(_) => self.lock().await?.run(body).await,
            Self::Multi(lock, _) => lock.run(async |_| body.await).await,
        }
    }

    pub(crate) async fn take(&self) -> Held {
        soon(self.lock_timeout(Duration::MAX)).await.unwrap()
    }

    pub(crate) fn spawn(&self) -> JoinHandle<Result<Held, LockError>> {
        let lock = self.clone();
        tokio::spawn(async move { lock.lock_timeout(Duration::MAX).await })
    }

    pub(crate) async fn participants(&self) -> Vec<Participant> {
        let participants = match self {
            Self::Mutex(lock) | Self::Multi(_, lock) => lock.participants().await,
            Self::Reader(lock) | Self::Writer(lock) => lock.participants().await,
            Self::Permits(lock, _) => lock.participants().await,
            Self::Leader(election) => election.participants().await,
        };
        participants.unwrap()
    }

    pub(crate) async fn until_in_line(&self, count: u32) {
        until_waiting_here(async || Ok(self.participants().await), count).await;
    }
}

#[derive(Debug)]
pub(crate) enum Held {
    Mutex(MutexGuard),
    Reader(ReadGuard),
    Writer(WriteGuard),
    Permits(SemaphoreGuard),
    Multi(MultiGuard),
    Leader(LeaderLatch, Leadership),
}

/// Evaluates an expression with a guard of any kind, and another one with a candidate and its term.
macro_rules! on {
    ($held:expr, $guard:ident => $result:expr, ($latch:pat, $term:ident) => $of_term:expr) => {
        match $held {
            Held::Mutex($guard) => $result,
            Held::Reader($guard) => $result,
            Held::Writer($guard) => $result,
            Held::Permits($guard) => $result,
            Held::Multi($guard) => $result,
            Held::Leader($latch, $term) => $of_term,
        }
    };
}

impl Deref for Held {
    type Target = zklock::Held;

    fn deref(&self) -> &zklock::Held {
        on!(self, guard => guard, (_, term) => term)
    }
}

impl Held {
    pub(crate) async fn release(self) -> Result<(), LockError> {
        on!(self, guard => guard.release().await, (latch, term) => {
            let held = term.verify().await;
            latch.close().await.and(held)
        })
    }

    pub(crate) async fn downgrade(self) -> Result<Self, LockError> {
        let Self::Writer(guard) = self else { panic!("{self:?} is no writer") };
        guard.downgrade().await.map(Held::Reader)
    }

    pub(crate) async fn revoked(&self) {
        on!(self, guard => guard.revoked().await, (_, term) => panic!("{term:?} is not revoked"))
    }

    pub(crate) async fn scope<F: Future>(&self, future: F) -> F::Output {
        on!(self, guard => guard.scope(future).await, (_, term) => term.run(future).await.unwrap())
    }

    pub(crate) async fn run<F: Future>(&self, body: F) -> Result<F::Output, LockError> {
        on!(self, guard => guard.run(body).await, (_, term) => term.run(body).await)
    }

    pub(crate) async fn run_to_end<F: Future>(&self, body: F) -> Result<F::Output, LockError> {
        on!(self, guard => guard.run_to_end(body).await, (_, term) => term.run_to_end(body).await)
    }

    pub(crate) fn run_blocking<T>(&self, body: impl FnOnce() -> T) -> Result<T, LockError> {
        on!(self, guard => guard.run_blocking(body), (_, term) => term.run_blocking(body))
    }
}
