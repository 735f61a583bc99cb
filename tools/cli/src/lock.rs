//! A lock of any kind, as the options of a command name it.
//!
//! Uses the floors below: `arguments` and `exit`.

use std::time::Duration;

use zklock::{Client, Current, LockError, MutexGuard, ReadGuard, SemaphoreGuard, WriteGuard, current};

use crate::arguments::{Exec, Patience, Side};
use crate::exit::{Code, Failure};

/// A held lock of any kind.
pub(crate) enum Held {
    Mutex(MutexGuard),
    Read(ReadGuard),
    Write(WriteGuard),
    Permits(SemaphoreGuard),
}

/// Takes the lock that the options describe.
pub(crate) async fn take(client: &Client, options: &Exec) -> Result<Held, Failure> {
    let Exec { path, patience, .. } = options;
    let wait = patience.wait.unwrap_or(Duration::MAX);
    let held = match (options.mode, options.permits.zip(options.of)) {
        (Some(Side::Read), _) => {
            let lock = client.rwlock(path)?;
            taken(patience, lock.try_read(), lock.read_timeout(wait)).await?.map(Held::Read)
        }
        (Some(Side::Write), _) => {
            let lock = client.rwlock(path)?;
            taken(patience, lock.try_write(), lock.write_timeout(wait)).await?.map(Held::Write)
        }
        (None, Some((wanted, of))) => {
            let lock = client.semaphore(path, of)?;
            let (now, later) = (lock.try_acquire_many(wanted), lock.acquire_many_timeout(wanted, wait));
            taken(patience, now, later).await?.map(Held::Permits)
        }
        (None, None) => {
            let lock = client.mutex(path)?;
            taken(patience, lock.try_lock(), lock.lock_timeout(wait)).await?.map(Held::Mutex)
        }
    };
    held.ok_or_else(|| Failure::new(Code::Contended, format!("lock {path} is held by others")))
}

async fn taken<G>(
    patience: &Patience,
    now: impl Future<Output = Result<Option<G>, LockError>>,
    later: impl Future<Output = Result<G, LockError>>,
) -> Result<Option<G>, LockError> {
    if patience.no_wait { now.await } else { later.await.map(Some) }
}

impl Held {
    /// Returns the hold, without the kind of the lock.
    pub(crate) async fn current(&self) -> Current {
        let found = async { current() };
        let found = match self {
            Self::Mutex(guard) => guard.scope(found).await,
            Self::Read(guard) => guard.scope(found).await,
            Self::Write(guard) => guard.scope(found).await,
            Self::Permits(guard) => guard.scope(found).await,
        };
        found.expect("a call inside of a scope holds the lock")
    }

    pub(crate) async fn once_per(&self, tick: &str, period: Duration) -> Result<bool, LockError> {
        match self {
            Self::Mutex(guard) => guard.once_per(tick, period).await,
            Self::Read(guard) => guard.once_per(tick, period).await,
            Self::Write(guard) => guard.once_per(tick, period).await,
            Self::Permits(guard) => guard.once_per(tick, period).await,
        }
    }

    pub(crate) async fn release(self) -> Result<(), LockError> {
        match self {
            Self::Mutex(guard) => guard.release().await,
            Self::Read(guard) => guard.release().await,
            Self::Write(guard) => guard.release().await,
            Self::Permits(guard) => guard.release().await,
        }
    }
}
