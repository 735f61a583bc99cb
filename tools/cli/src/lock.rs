//! A lock of any kind, as the options of a command name it.

use std::ops::Deref;
use std::time::Duration;

use zklock::{Client, Held, LockError, MutexGuard, ReadGuard, SemaphoreGuard, WriteGuard};

use crate::arguments::{Exec, Side};

/// A held lock of any kind.
pub(crate) enum Lock {
    Mutex(MutexGuard),
    Read(ReadGuard),
    Write(WriteGuard),
    Permits(SemaphoreGuard),
}

/// Takes the lock that the options describe.
pub(crate) async fn take(client: &Client, options: &Exec) -> Result<Lock, LockError> {
    let (path, no_wait) = (&options.path, options.no_wait);
    let wait = options.wait.unwrap_or(Duration::MAX);
    let held = match (options.mode, options.permits.zip(options.of)) {
        (Some(Side::Read), _) => {
            let lock = client.rwlock(path)?;
            taken(no_wait, lock.try_read(), lock.read_timeout(wait)).await?.map(Lock::Read)
        }
        (Some(Side::Write), _) => {
            let lock = client.rwlock(path)?;
            taken(no_wait, lock.try_write(), lock.write_timeout(wait)).await?.map(Lock::Write)
        }
        (None, Some((wanted, of))) => {
            let lock = client.semaphore(path, of)?;
            let (now, later) = (lock.try_acquire_many(wanted), lock.acquire_many_timeout(wanted, wait));
            taken(no_wait, now, later).await?.map(Lock::Permits)
        }
        (None, None) => {
            let lock = client.mutex(path)?;
            taken(no_wait, lock.try_lock(), lock.lock_timeout(wait)).await?.map(Lock::Mutex)
        }
    };
    held.ok_or_else(|| LockError::contended(path.clone()))
}

async fn taken<G>(
    no_wait: bool,
    now: impl Future<Output = Result<Option<G>, LockError>>,
    later: impl Future<Output = Result<G, LockError>>,
) -> Result<Option<G>, LockError> {
    if no_wait { now.await } else { later.await.map(Some) }
}

impl Lock {
    pub(crate) async fn release(self) -> Result<(), LockError> {
        match self {
            Self::Mutex(guard) => guard.release().await,
            Self::Read(guard) => guard.release().await,
            Self::Write(guard) => guard.release().await,
            Self::Permits(guard) => guard.release().await,
        }
    }
}

impl Deref for Lock {
    type Target = Held;

    fn deref(&self) -> &Held {
        match self {
            Self::Mutex(guard) => guard,
            Self::Read(guard) => guard,
            Self::Write(guard) => guard,
            Self::Permits(guard) => guard,
        }
    }
}
