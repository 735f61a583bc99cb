//! The functions by which generated code takes its locks.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use zklock_core::{
    Client, ClientId, LockError, Member, MultiGuard, MutexGuard, Permits, ReadGuard, SemaphoreGuard,
    ValidPath, WriteGuard,
};

use super::Path;
use super::named::LockPath;
use super::source::Source;
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
    pub(super) fn is_valid(self) -> bool {
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
    client: impl Source,
    path: Path,
    wait: Wait,
) -> impl Future<Output = Result<MutexGuard, LockError>> {
    entered((client, path, wait), ClientId::mutex_again, |asked| async move { asked.lock().await })
}

/// Takes the read-write lock of an annotated function, for reading.
pub fn read(
    client: impl Source,
    path: Path,
    wait: Wait,
) -> impl Future<Output = Result<ReadGuard, LockError>> {
    entered((client, path, wait), ClientId::read_again, |asked| async move {
        let lock = asked.client.rwlock_at(&asked.below).named(asked.path.label());
        match asked.wait.bound(&asked.client) {
            Some(wait) => lock.read_timeout(wait).await,
            None => lock.try_read().await?.ok_or_else(|| lock.contended()),
        }
    })
}

/// Takes the read-write lock of an annotated function, for writing.
pub fn write(
    client: impl Source,
    path: Path,
    wait: Wait,
) -> impl Future<Output = Result<WriteGuard, LockError>> {
    entered((client, path, wait), ClientId::write_again, |asked| async move {
        let lock = asked.client.rwlock_at(&asked.below).named(asked.path.label());
        match asked.wait.bound(&asked.client) {
            Some(wait) => lock.write_timeout(wait).await,
            None => lock.try_write().await?.ok_or_else(|| lock.contended()),
        }
    })
}

/// A lock that an annotated function takes.
pub(super) struct Asked {
    client: Client,
    path: LockPath,
    /// The path below the namespace of the client.
    below: Cow<'static, ValidPath>,
    wait: Wait,
}

impl Asked {
    fn of(client: impl Source, path: Path, wait: Wait) -> Result<Self, LockError> {
        let path = path?;
        let client = known(client, &path)?;
        let below = path.below(&client)?;
        Ok(Self { client, path, below, wait })
    }

    pub(super) async fn lock(&self) -> Result<MutexGuard, LockError> {
        let mutex = self.client.mutex_at(&self.below).named(self.path.label());
        match self.wait.bound(&self.client) {
            Some(wait) => mutex.lock_timeout(wait).await,
            None => mutex.try_lock().await?.ok_or_else(|| mutex.contended()),
        }
    }
}

/// Enters a lock again if the current call holds it and nothing is in the way, and takes it otherwise. It is inlined, because
/// to move what has been entered takes longer than to enter it.
#[inline(always)]
fn entered<G: Unpin, F: Future<Output = Result<G, LockError>>>(
    (client, path, wait): (impl Source, Path, Wait),
    again: impl FnOnce(ClientId, &str) -> Option<G>,
    take: impl FnOnce(Asked) -> F,
) -> Entered<G, F> {
    // By reference, and before the path is validated: entering again takes less time than either.
    if let Ok(path) = &path
        && wait.is_valid()
        && let Some(held) = client.id().and_then(|client| again(client, path))
    {
        return Entered::Again(Some(held));
    }
    match first((client, path, wait), take) {
        Ok(taken) => Entered::Waits(taken),
        Err(error) => Entered::Failed(Some(error)),
    }
}

/// Begins to take a lock. It is a function of its own, so that the way to enter again is inlined. Both results are boxed, so
/// that the futures of calls are small.
#[inline(never)]
pub(super) fn first<F: Future>(
    (client, path, wait): (impl Source, Path, Wait),
    take: impl FnOnce(Asked) -> F,
) -> Result<Pin<Box<F>>, Box<LockError>> {
    Ok(Box::pin(take(Asked::of(client, path, wait)?)))
}

/// The entry into a lock. An error is boxed, so that the futures of calls are small, and an entry again is as small as it can
/// be.
enum Entered<G, F> {
    Again(Option<G>),
    Waits(Pin<Box<F>>),
    Failed(Option<Box<LockError>>),
}

impl<G: Unpin, F: Future<Output = Result<G, LockError>>> Future for Entered<G, F> {
    type Output = Result<G, LockError>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Again(held) => Poll::Ready(Ok(held.take().expect(ENDED))),
            Self::Waits(taken) => taken.as_mut().poll(context),
            Self::Failed(error) => Poll::Ready(Err(*error.take().expect(ENDED))),
        }
    }
}

const ENDED: &str = "a future is not polled after its end";

/// Returns the number of permits that is the value of an expression.
pub fn number(of: impl Into<Permits>) -> Permits {
    of.into()
}

/// Takes permits of the semaphore of an annotated function, all or none.
pub async fn permits(
    client: impl Source,
    path: Path,
    (wanted, of): (u32, Permits),
    wait: Wait,
) -> Result<SemaphoreGuard, LockError> {
    let path = path?;
    let client = known(client, &path)?;
    let semaphore = client.semaphore(&*path, of)?.named(path.label());
    match wait.bound(&client) {
        Some(wait) => semaphore.acquire_many_timeout(wanted, wait).await,
        None => semaphore.try_acquire_many(wanted).await?.ok_or_else(|| semaphore.contended()),
    }
}

/// Takes all of the locks of an annotated function, or none. `member` selects the kind of each lock.
pub async fn lock_all(
    client: impl Source,
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
fn known(client: impl Source, path: &str) -> Result<Client, LockError> {
    client.client().map_err(|error| about(error, path))
}
