//! The functions by which generated code takes its locks.

use std::borrow::Cow;
use std::future::{Future, ready};
use std::time::Duration;

use futures_util::future::Either;
use zklock_core::{
    Client, LockError, Member, MultiGuard, MutexGuard, Permits, ReadGuard, SemaphoreGuard, ValidPath,
    WriteGuard,
};

use super::Path;
use super::named::LockPath;
use crate::global::about;

/// The wait of an annotated function for its lock.
#[derive(Clone, Copy, Debug)]
pub enum Wait {
    /// The default wait of the client.
    Default,
    /// At most this long.
    For(Duration),
    /// Without a limit.
    Forever,
    /// Not at all, if the lock is contended.
    Never,
}

impl Wait {
    /// Returns `false` for a wait that taking the lock refuses.
    fn is_valid(self) -> bool {
        !matches!(self, Self::For(Duration::ZERO))
    }

    /// Returns the bound, or `None` for a call that does not wait for a contended lock.
    fn bound(self, client: &Client) -> Option<Duration> {
        match self {
            Self::Default => Some(client.default_wait()),
            Self::For(wait) => Some(wait),
            Self::Forever => Some(Duration::MAX),
            Self::Never => None,
        }
    }
}

/// Takes the mutex of an annotated function.
pub fn lock(
    client: Result<Client, LockError>,
    path: Path,
    wait: Wait,
) -> impl Future<Output = Result<MutexGuard, LockError>> {
    entered(Asked::of(client, path, wait), Client::mutex_again, |asked| async move {
        let mutex = asked.client.mutex_at(&asked.below).named(asked.path.label());
        match asked.wait.bound(&asked.client) {
            Some(wait) => mutex.lock_timeout(wait).await,
            None => free(mutex.try_lock().await, &asked.path),
        }
    })
}

/// Takes the read-write lock of an annotated function, for reading.
pub fn read(
    client: Result<Client, LockError>,
    path: Path,
    wait: Wait,
) -> impl Future<Output = Result<ReadGuard, LockError>> {
    entered(Asked::of(client, path, wait), Client::read_again, |asked| async move {
        let lock = asked.client.rwlock_at(&asked.below).named(asked.path.label());
        match asked.wait.bound(&asked.client) {
            Some(wait) => lock.read_timeout(wait).await,
            None => free(lock.try_read().await, &asked.path),
        }
    })
}

/// Takes the read-write lock of an annotated function, for writing.
pub fn write(
    client: Result<Client, LockError>,
    path: Path,
    wait: Wait,
) -> impl Future<Output = Result<WriteGuard, LockError>> {
    entered(Asked::of(client, path, wait), Client::write_again, |asked| async move {
        let lock = asked.client.rwlock_at(&asked.below).named(asked.path.label());
        match asked.wait.bound(&asked.client) {
            Some(wait) => lock.write_timeout(wait).await,
            None => free(lock.try_write().await, &asked.path),
        }
    })
}

/// A lock that an annotated function takes.
struct Asked {
    client: Client,
    path: LockPath,
    /// The path below the namespace of the client.
    below: Cow<'static, ValidPath>,
    wait: Wait,
}

impl Asked {
    #[inline]
    fn of(client: Result<Client, LockError>, path: Path, wait: Wait) -> Result<Self, LockError> {
        let path = path?;
        let client = known(client, &path)?;
        let below = path.below(&client)?;
        Ok(Self { client, path, below, wait })
    }
}

/// Enters a lock again if the current call holds it and nothing is in the way, and takes it otherwise.
#[inline]
fn entered<G, F: Future<Output = Result<G, LockError>>>(
    asked: Result<Asked, LockError>,
    again: impl FnOnce(&Client, &ValidPath) -> Option<G>,
    take: impl FnOnce(Asked) -> F,
) -> impl Future<Output = Result<G, LockError>> {
    let asked = match asked {
        Ok(asked) => asked,
        Err(error) => return Either::Left(ready(Err(error))),
    };
    let held = if asked.wait.is_valid() { again(&asked.client, &asked.below) } else { None };
    match held {
        Some(held) => Either::Left(ready(Ok(held))),
        // Boxed, so that the futures of calls are small.
        None => Either::Right(Box::pin(take(asked))),
    }
}

/// Returns the number of permits that is the value of an expression.
pub fn number(of: impl Into<Permits>) -> Permits {
    of.into()
}

/// Takes permits of the semaphore of an annotated function, all or none.
pub async fn permits(
    client: Result<Client, LockError>,
    path: Path,
    (wanted, of): (u32, Permits),
    wait: Wait,
) -> Result<SemaphoreGuard, LockError> {
    let path = path?;
    let client = known(client, &path)?;
    let semaphore = client.semaphore(&*path, of)?.named(path.label());
    match wait.bound(&client) {
        Some(wait) => semaphore.acquire_many_timeout(wanted, wait).await,
        None => free(semaphore.try_acquire_many(wanted).await, &path),
    }
}

/// Takes all of the locks of an annotated function, or none. `member` selects the kind of each lock.
pub async fn lock_all(
    client: Result<Client, LockError>,
    paths: impl IntoIterator<Item = Path>,
    member: fn(String) -> Member,
    wait: Wait,
) -> Result<MultiGuard, LockError> {
    let paths = paths.into_iter().collect::<Result<Vec<_>, _>>()?;
    let first = paths.first().map_or_else(String::new, |path| path.to_string());
    let client = known(client, &first)?;
    let all = client.multi(paths.into_iter().map(|path| {
        let label = path.label();
        member(path.into_path().into_owned()).named(label)
    }))?;
    match wait.bound(&client) {
        Some(wait) => all.lock_timeout(wait).await,
        None => all.lock_now().await,
    }
}

/// Returns the client. If there is none, the error names the lock at `path`.
fn known(client: Result<Client, LockError>, path: &str) -> Result<Client, LockError> {
    client.map_err(|error| about(error, path))
}

/// Returns the guard of a lock that was free, and an error for a contended one.
fn free<G>(taken: Result<Option<G>, LockError>, path: &str) -> Result<G, LockError> {
    taken?.ok_or_else(|| LockError::contended(path.to_owned()))
}
