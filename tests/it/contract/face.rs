//! The locks that the contract covers, as one type.
//!
//! To add a lock, add a variant to each enum, an arm to each `match` and to `on`, and a value to the
//! templates.

use std::ops::Deref;
use std::time::Duration;

use rstest_reuse::template;
use tokio::task::JoinHandle;
use zklock::{
    Client, LockError, MultiGuard, MultiLock, Mutex, MutexGuard, Participant, RwLock, Semaphore,
    SemaphoreGuard, WriteGuard,
};

use crate::support::{Space, until};

// Runs a test for each lock.
#[template]
#[rstest::rstest]
pub(super) fn every_lock(
    #[values(Face::Mutex, Face::Exclusive, Face::Writer, Face::Semaphore, Face::Multi)] face: Face,
) {
}

// Runs a test for each lock that a call may enter again.
#[template]
#[rstest::rstest]
pub(super) fn every_reentrant_lock(#[values(Face::Mutex, Face::Writer, Face::Multi)] face: Face) {}

// Runs a test for each lock that a client passes on from one of its calls to the next.
#[template]
#[rstest::rstest]
pub(super) fn every_passed_lock(
    #[values(Face::Mutex, Face::Exclusive, Face::Writer, Face::Semaphore)] face: Face,
) {
}

/// A kind of lock.
#[derive(Clone, Copy, Debug)]
pub(super) enum Face {
    Mutex,
    /// The mutex that is not reentrant.
    Exclusive,
    Writer,
    /// A semaphore with one permit.
    Semaphore,
    /// Two mutexes at once.
    Multi,
}

impl Face {
    pub(super) fn of(self, client: &Client, path: &str) -> Lock {
        match self {
            Self::Mutex => Lock::Mutex(client.mutex(path).unwrap()),
            Self::Exclusive => Lock::Mutex(client.exclusive(path).unwrap()),
            Self::Writer => Lock::Writer(client.rwlock(path).unwrap()),
            Self::Semaphore => Lock::Semaphore(client.semaphore(path, 1).unwrap()),
            Self::Multi => {
                let lock = client.multi([format!("{path}-too"), path.to_owned()]).unwrap();
                Lock::Multi(lock, client.mutex(path).unwrap())
            }
        }
    }

    /// Waits until an outsider sees this many contenders, including the holder.
    pub(super) async fn until_contending(self, space: &Space, path: &str, count: usize) {
        match self {
            Self::Mutex | Self::Writer | Self::Multi => space.until_queued(path, count).await,
            Self::Exclusive | Self::Semaphore => {
                // One of the waiters is inside the gate and has a node among the permits too.
                let expected = (count.min(2), count.saturating_sub(1));
                let are_contending = || async {
                    let permits = space.children(&format!("{path}/leases")).await.len();
                    (permits, space.children(&format!("{path}/locks")).await.len()) == expected
                };
                until(are_contending, "all contenders are in the queue").await;
            }
        }
    }

    /// Returns the parent of the nodes that the lock stands on.
    pub(super) fn parent_of_nodes(self, path: &str) -> String {
        match self {
            Self::Mutex | Self::Writer | Self::Multi => path.to_owned(),
            Self::Exclusive | Self::Semaphore => format!("{path}/leases"),
        }
    }
}

/// A handle to a lock.
#[derive(Clone, Debug)]
pub(super) enum Lock {
    Mutex(Mutex),
    Writer(RwLock),
    Semaphore(Semaphore),
    /// The multi-lock, and its first member.
    Multi(MultiLock, Mutex),
}

impl Lock {
    pub(super) async fn lock(&self) -> Result<Held, LockError> {
        match self {
            Self::Mutex(lock) => lock.lock().await.map(Held::Mutex),
            Self::Writer(lock) => lock.write().await.map(Held::Writer),
            Self::Semaphore(lock) => lock.acquire().await.map(Held::Semaphore),
            Self::Multi(lock, _) => lock.lock().await.map(Held::Multi),
        }
    }

    pub(super) async fn lock_timeout(&self, wait: Duration) -> Result<Held, LockError> {
        match self {
            Self::Mutex(lock) => lock.lock_timeout(wait).await.map(Held::Mutex),
            Self::Writer(lock) => lock.write_timeout(wait).await.map(Held::Writer),
            Self::Semaphore(lock) => lock.acquire_timeout(wait).await.map(Held::Semaphore),
            Self::Multi(lock, _) => lock.lock_timeout(wait).await.map(Held::Multi),
        }
    }

    pub(super) async fn try_lock(&self) -> Result<Option<Held>, LockError> {
        Ok(match self {
            Self::Mutex(lock) => lock.try_lock().await?.map(Held::Mutex),
            Self::Writer(lock) => lock.try_write().await?.map(Held::Writer),
            Self::Semaphore(lock) => lock.try_acquire().await?.map(Held::Semaphore),
            Self::Multi(lock, _) => lock.try_lock().await?.map(Held::Multi),
        })
    }

    /// Takes the lock in another task, however long that takes.
    pub(super) fn spawn(&self) -> JoinHandle<Result<Held, LockError>> {
        let lock = self.clone();
        tokio::spawn(async move { lock.lock_timeout(Duration::MAX).await })
    }

    pub(super) async fn participants(&self) -> Vec<Participant> {
        let participants = match self {
            Self::Mutex(lock) | Self::Multi(_, lock) => lock.participants().await,
            Self::Writer(lock) => lock.participants().await,
            Self::Semaphore(lock) => lock.participants().await,
        };
        participants.unwrap()
    }

    /// Waits until this many calls of the lock's client wait in its line.
    pub(super) async fn until_in_line(&self, count: u32) {
        let waiting = async || self.participants().await.iter().find_map(|own| own.waiting_here);
        until(async || waiting().await == Some(count), "the calls wait in line").await;
    }
}

/// A held lock.
#[derive(Debug)]
pub(super) enum Held {
    Mutex(MutexGuard),
    Writer(WriteGuard),
    Semaphore(SemaphoreGuard),
    Multi(MultiGuard),
}

/// Evaluates an expression with a guard of any kind.
macro_rules! on {
    ($held:expr, $guard:ident => $result:expr) => {
        match $held {
            Held::Mutex($guard) => $result,
            Held::Writer($guard) => $result,
            Held::Semaphore($guard) => $result,
            Held::Multi($guard) => $result,
        }
    };
}

impl Deref for Held {
    type Target = zklock::Held;

    fn deref(&self) -> &zklock::Held {
        on!(self, guard => guard)
    }
}

impl Held {
    pub(super) async fn release(self) -> Result<(), LockError> {
        on!(self, guard => guard.release().await)
    }

    pub(super) async fn revoked(&self) {
        on!(self, guard => guard.revoked().await)
    }

    pub(super) async fn scope<F: Future>(&self, future: F) -> F::Output {
        on!(self, guard => guard.scope(future).await)
    }
}
