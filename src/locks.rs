//! The locks and elections of the scoped or installed client.
//!
//! Uses only `global`.

use zklock_core::{
    Client, Election, Leader, LockError, Member, MultiLock, Mutex, Permits, RwLock, Semaphore,
};

use crate::global::about;

/// Returns the mutex at `path` of the client that an annotated function would use here.
///
/// It is the lock that functions under [`#[distributed_lock]`](macro@crate::distributed_lock) take at this path. See
/// [`Client::mutex`].
///
/// # Errors
///
/// * [`LockError::NotInstalled`] if there is no client, [`LockError::Closed`] if it was shut down.
/// * [`LockError::InvalidPath`] if `path` is invalid.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), zklock::LockError> {
/// let guard = zklock::mutex("/orders/7")?.lock().await?;
/// guard.upsert("/ledgers/7", "paid").await?;
/// guard.release().await
/// # }
/// ```
pub fn mutex(path: impl AsRef<str>) -> Result<Mutex, LockError> {
    let path = path.as_ref();
    client_for(path)?.mutex(path)
}

/// Returns the read-write lock at `path` of the client that an annotated function would use here.
///
/// It is the lock that functions with `mode = read` and `mode = write` take at this path. See [`Client::rwlock`].
///
/// # Errors
///
/// Those of [`mutex`].
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), zklock::LockError> {
/// let guard = zklock::rwlock("/prices/eu")?.read().await?;
/// guard.release().await
/// # }
/// ```
pub fn rwlock(path: impl AsRef<str>) -> Result<RwLock, LockError> {
    let path = path.as_ref();
    client_for(path)?.rwlock(path)
}

/// Returns the semaphore at `path` with this number of permits, of the client that an annotated function would use
/// here.
///
/// See [`Client::semaphore`].
///
/// # Errors
///
/// Those of [`mutex`], and [`LockError::InvalidPermits`] if the number is impossible.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), zklock::LockError> {
/// let permit = zklock::semaphore("/exports", 3)?.acquire().await?;
/// permit.release().await
/// # }
/// ```
pub fn semaphore(path: impl AsRef<str>, permits: impl Into<Permits>) -> Result<Semaphore, LockError> {
    let path = path.as_ref();
    client_for(path)?.semaphore(path, permits)
}

/// Returns a lock that acquires several locks as one, of the client that an annotated function would use here.
///
/// A member that is only a path is the mutex at that path. See [`Client::multi`].
///
/// # Errors
///
/// * [`LockError::NotInstalled`] if there is no client, [`LockError::Closed`] if it was shut down. The error names the
///   first member.
/// * [`LockError::InvalidPath`] if a path is invalid.
/// * [`LockError::InvalidGroup`] if `members` is empty or names a path twice.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), zklock::LockError> {
/// let both = zklock::multi(["/accounts/7", "/accounts/9"])?.lock().await?;
/// both.release().await
/// # }
/// ```
pub fn multi(members: impl IntoIterator<Item = impl Into<Member>>) -> Result<MultiLock, LockError> {
    let members: Vec<Member> = members.into_iter().map(Into::into).collect();
    client_for(members.first().map_or("", Member::path))?.multi(members)
}

/// Returns the election at `path` of the client that an annotated function would use here, to be configured and
/// entered.
///
/// See [`Client::election`], and [`leader`](crate::leader()) for the candidate that annotated functions share.
///
/// # Errors
///
/// Those of [`mutex`].
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), zklock::LockError> {
/// let latch = zklock::election("/leader")?.latch();
/// let term = latch.leadership().await?;
/// # Ok(())
/// # }
/// ```
pub fn election(path: impl AsRef<str>) -> Result<Election, LockError> {
    let path = path.as_ref();
    client_for(path)?.election(path)
}

/// Returns the candidate at `path` of the client that an annotated function would use here.
///
/// All functions under [`#[leader_only]`](macro@crate::leader_only) at this path share it. If the process
/// joins at start-up, their first call does not wait for the election:
///
/// ```no_run
/// # async fn example() -> Result<(), zklock::LockError> {
/// let leads = zklock::leader("/leader")?.join().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// * [`LockError::NotInstalled`] if there is no client, [`LockError::Closed`] if it was shut down.
/// * [`LockError::InvalidPath`] if `path` is invalid.
pub fn leader(path: impl AsRef<str>) -> Result<Leader, LockError> {
    let path = path.as_ref();
    client_for(path)?.leader(path)
}

/// Tells, from memory, whether this process leads at `path` at this instant.
///
/// It is meant for health endpoints: it neither joins the election nor fails, and returns `false` before this
/// process has joined.
pub fn is_leader(path: impl AsRef<str>) -> bool {
    let leader = crate::global::client().and_then(|client| client.leader(path));
    leader.is_ok_and(|leader| leader.is_leader())
}

fn client_for(path: &str) -> Result<Client, LockError> {
    crate::global::client().map_err(|error| about(error, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T>(lock: Result<T, LockError>) {
        let error = lock.err().expect("no client is installed");
        // Another test of this process may have installed a client and shut it down.
        let (LockError::NotInstalled { name: None, path: Some(path) } | LockError::Closed { path, .. }) =
            &error
        else {
            panic!("{error}")
        };
        assert_eq!(path, "/a");
    }

    #[test]
    fn a_missing_client_is_told_with_the_path() {
        check(mutex("/a"));
        check(rwlock("/a"));
        check(semaphore("/a", 2));
        check(multi(["/a", "/b"]));
        check(election("/a"));
    }
}
