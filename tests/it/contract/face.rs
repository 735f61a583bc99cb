//! The locks that the contract is about, as one type.
//!
//! To add a lock: a variant of each enum, an arm in each `match` and in `on`, and a value in the templates.

use std::time::Duration;

use rstest_reuse::template;
use tokio::task::JoinHandle;
use zklock::{Client, LockError, LossReason, Mutex, MutexGuard};

use crate::support::Space;

// Runs a test on each kind of server for each lock.
#[template]
#[rstest::rstest]
#[case::embedded(Kind::Embedded)]
#[case::real(Kind::Real)]
pub(super) fn every_lock(#[case] kind: Kind, #[values(Face::Mutex)] face: Face) {}

// Runs a test on each kind of server for each lock that a call may enter again.
#[template]
#[rstest::rstest]
#[case::embedded(Kind::Embedded)]
#[case::real(Kind::Real)]
pub(super) fn every_reentrant_lock(#[case] kind: Kind, #[values(Face::Mutex)] face: Face) {}

/// A kind of lock.
#[derive(Clone, Copy, Debug)]
pub(super) enum Face {
    Mutex,
}

impl Face {
    pub(super) fn of(self, client: &Client, path: &str) -> Lock {
        match self {
            Self::Mutex => Lock::Mutex(client.mutex(path).unwrap()),
        }
    }

    /// Waits until so many want the lock, its holder included, as an outsider sees it.
    pub(super) async fn until_contending(self, space: &Space, path: &str, count: usize) {
        match self {
            Self::Mutex => space.until_queued(path, count).await,
        }
    }
}

/// A handle on a lock.
#[derive(Clone, Debug)]
pub(super) enum Lock {
    Mutex(Mutex),
}

impl Lock {
    pub(super) async fn lock(&self) -> Result<Held, LockError> {
        match self {
            Self::Mutex(lock) => lock.lock().await.map(Held::Mutex),
        }
    }

    pub(super) async fn lock_timeout(&self, wait: Duration) -> Result<Held, LockError> {
        match self {
            Self::Mutex(lock) => lock.lock_timeout(wait).await.map(Held::Mutex),
        }
    }

    pub(super) async fn try_lock(&self) -> Result<Option<Held>, LockError> {
        match self {
            Self::Mutex(lock) => Ok(lock.try_lock().await?.map(Held::Mutex)),
        }
    }

    /// Takes the lock in another task, however long that takes.
    pub(super) fn spawn(&self) -> JoinHandle<Result<Held, LockError>> {
        let lock = self.clone();
        tokio::spawn(async move { lock.lock_timeout(Duration::MAX).await })
    }

    /// How many hold the lock or wait for it.
    pub(super) async fn contenders(&self) -> usize {
        match self {
            Self::Mutex(lock) => lock.participants().await.unwrap().len(),
        }
    }
}

/// A held lock.
#[derive(Debug)]
pub(super) enum Held {
    Mutex(MutexGuard),
}

/// What all guards can do.
macro_rules! on {
    ($held:expr, $guard:ident => $result:expr) => {
        match $held {
            Held::Mutex($guard) => $result,
        }
    };
}

impl Held {
    pub(super) fn path(&self) -> &str {
        on!(self, guard => guard.path())
    }

    pub(super) fn is_held(&self) -> bool {
        on!(self, guard => guard.is_held())
    }

    pub(super) async fn lost(&self) -> LossReason {
        on!(self, guard => guard.lost().await)
    }

    pub(super) async fn release(self) -> Result<(), LockError> {
        on!(self, guard => guard.release().await)
    }

    pub(super) async fn scope<F: Future>(&self, future: F) -> F::Output {
        on!(self, guard => guard.scope(future).await)
    }
}
