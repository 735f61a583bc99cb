//! The functions by which generated code takes its lock or its term, one for each kind.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use zklock_core::{
    Call, Client, Leadership, LockError, Member, MultiGuard, MutexGuard, Permits, ReadGuard, SemaphoreGuard,
    WriteGuard,
};

use super::paths::{LockPath, Paths};
use crate::global::about;

/// The wait of an annotated function for its lock or for leadership.
#[derive(Clone, Copy, Debug)]
pub enum Wait {
    /// The default wait of the client.
    Default,
    /// At most this long.
    For(Duration),
    /// Without a limit.
    Forever,
    /// Not at all, if the lock is contended or another replica leads.
    Never,
}

impl Wait {
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

/// A call that takes a lock or a term. It does nothing before it is polled.
///
/// The future is boxed, so that those of annotated functions are small and quick to compile.
#[must_use = "a lock is taken by a future that is polled"]
pub struct Taking<H>(pub(super) Result<Asked<H>, LockError>);

/// A call with valid arguments, and the client that it asks.
pub(super) struct Asked<H> {
    /// The path of the lock, or of the first of several locks.
    pub(super) path: String,
    pub(super) client: Client,
    pub(super) taken: BoxFuture<'static, Result<H, LockError>>,
}

impl<H> fmt::Debug for Taking<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Taking").field(&self.0.as_ref().map(|asked| &asked.path)).finish()
    }
}

impl<H> Future for Taking<H> {
    type Output = Result<H, LockError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Ok(asked) => asked.taken.as_mut().poll(context),
            Err(error) => Poll::Ready(Err(error.clone())),
        }
    }
}

impl<H> Taking<H> {
    /// Describes a call that takes the locks at these paths.
    fn new<F>(
        client: Result<Client, LockError>,
        paths: Paths,
        take: impl FnOnce(&Client, Vec<LockPath>) -> Result<F, LockError>,
    ) -> Self
    where
        F: Future<Output = Result<H, LockError>> + Send + 'static,
    {
        Self(paths.finish().and_then(|paths| {
            let path = paths.first().map_or("", |first| &first.path).to_owned();
            let client = client.map_err(|error| about(error, &path))?;
            let taken = Box::pin(take(&client, paths)?);
            Ok(Asked { path, client, taken })
        }))
    }

    /// Describes a call that takes the lock at one path.
    fn one<F>(
        client: Result<Client, LockError>,
        paths: Paths,
        take: impl FnOnce(&Client, LockPath) -> Result<F, LockError>,
    ) -> Self
    where
        F: Future<Output = Result<H, LockError>> + Send + 'static,
    {
        // An attribute has at least one path.
        Self::new(client, paths, |client, mut paths| take(client, paths.swap_remove(0)))
    }

    /// Adds steps to the call, which take the value, the client and the future. If there is no value, the call fails before
    /// it asks the client.
    pub(super) fn then<V, T, F>(
        self,
        value: Result<V, LockError>,
        steps: impl FnOnce(V, Client, BoxFuture<'static, Result<H, LockError>>) -> F,
    ) -> Taking<T>
    where
        F: Future<Output = Result<T, LockError>> + Send + 'static,
    {
        Taking(value.and_then(|value| {
            let Asked { path, client, taken } = self.0?;
            let taken = Box::pin(steps(value, client.clone(), taken));
            Ok(Asked { path, client, taken })
        }))
    }
}

/// Returns the client that is the value of an expression.
pub fn client_of(client: &Client) -> Result<Client, LockError> {
    Ok(client.clone())
}

/// Takes the mutex of an annotated function.
pub fn mutex(client: Result<Client, LockError>, paths: Paths, wait: Wait) -> Taking<MutexGuard> {
    Taking::one(client, paths, |client, at| {
        let (mutex, wait) = (client.mutex(&at.path)?.named(at.label), wait.bound(client));
        Ok(async move { mutex.take(wait).await })
    })
}

/// Takes the read-write lock of an annotated function, for reading.
pub fn read(client: Result<Client, LockError>, paths: Paths, wait: Wait) -> Taking<ReadGuard> {
    Taking::one(client, paths, |client, at| {
        let (lock, wait) = (client.rwlock(&at.path)?.named(at.label), wait.bound(client));
        Ok(async move { lock.take_read(wait).await })
    })
}

/// Takes the read-write lock of an annotated function, for writing.
pub fn write(client: Result<Client, LockError>, paths: Paths, wait: Wait) -> Taking<WriteGuard> {
    Taking::one(client, paths, |client, at| {
        let (lock, wait) = (client.rwlock(&at.path)?.named(at.label), wait.bound(client));
        Ok(async move { lock.take_write(wait).await })
    })
}

/// Returns the number of permits that is the value of an expression.
pub fn number(of: impl Into<Permits>) -> Permits {
    of.into()
}

/// Takes permits of the semaphore of an annotated function, all or none.
pub fn permits(
    client: Result<Client, LockError>,
    paths: Paths,
    (wanted, of): (u32, Permits),
    wait: Wait,
) -> Taking<SemaphoreGuard> {
    Taking::one(client, paths, |client, at| {
        let (semaphore, wait) = (client.semaphore(&at.path, of)?.named(at.label), wait.bound(client));
        Ok(async move { semaphore.take(wanted, wait).await })
    })
}

/// Takes all of the locks of an annotated function, or none. `member` selects the kind of each lock.
pub fn all(
    client: Result<Client, LockError>,
    paths: Paths,
    member: fn(String) -> Member,
    wait: Wait,
) -> Taking<MultiGuard> {
    Taking::new(client, paths, |client, paths| {
        let all = client.multi(paths.into_iter().map(|at| member(at.path).named(at.label)))?;
        let wait = wait.bound(client);
        Ok(async move { all.take(wait).await })
    })
}

/// Takes the term of a function that the leader runs. The first call joins the election; later calls that do not wait
/// answer from memory.
pub fn term(client: Result<Client, LockError>, paths: Paths, wait: Wait) -> Taking<Term> {
    Taking::one(client, paths, |client, at| {
        let (client, leader) = (client.clone(), client.leader(&at.path)?.named(at.label));
        Ok(async move {
            let leadership = match wait {
                Wait::Never => leader
                    .term()
                    .await?
                    .ok_or_else(|| LockError::NotLeader { path: leader.path().to_owned() })?,
                Wait::For(wait) => leader.leadership_timeout(wait).await?,
                Wait::Default | Wait::Forever => leader.leadership().await?,
            };
            Ok(Term { _call: leadership.begin_call()?, leadership, _client: client })
        })
    })
}

/// A call under a term, which keeps its client alive, and for which a shutdown waits. Generated code uses it as it does a
/// guard.
#[derive(Debug)]
pub struct Term {
    leadership: Leadership,
    _call: Call,
    _client: Client,
}

impl Term {
    /// Returns the leadership that the body sees.
    pub fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    /// Ends the call.
    pub async fn finish(self) {}
}

impl Deref for Term {
    type Target = Leadership;

    fn deref(&self) -> &Leadership {
        &self.leadership
    }
}
