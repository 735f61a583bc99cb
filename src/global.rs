//! The clients of the process: the default one, named ones, and one per scope for tests and tenants.
//!
//! Uses no other module.

mod scope;

use std::future::Future;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::JoinHandle;
use zklock_core::{Client, LockError, Readiness};

#[cfg(feature = "testing")]
pub(crate) use self::scope::Ambient;
pub use self::scope::Scope;
use self::scope::{Clients, SCOPED, scoped};

/// The installed clients.
static INSTALLED: RwLock<Clients> = RwLock::new(Clients::new());

/// Installs the default client of this process, which annotated functions use.
///
/// Applications install a client; libraries take one as an argument.
///
/// # Errors
///
/// [`LockError::AlreadyInstalled`] if a default client is installed; it stays installed.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), zklock::LockError> {
/// zklock::install(zklock::Config::from_env()?.connect().await?)?;
/// # Ok(())
/// # }
/// ```
pub fn install(client: Client) -> Result<(), LockError> {
    insert(None, client)
}

/// Installs a client under a name, for functions annotated with `client = "name"`.
///
/// # Errors
///
/// [`LockError::AlreadyInstalled`] if a client of this name is installed; it stays installed.
pub fn install_as(name: impl Into<String>, client: Client) -> Result<(), LockError> {
    insert(Some(name.into()), client)
}

/// Returns the client that an annotated function would use here: the scoped one, or else the installed one.
///
/// # Errors
///
/// [`LockError::NotInstalled`] if there is no such client, and [`LockError::Closed`] if it was shut down by [`shutdown`].
pub fn client() -> Result<Client, LockError> {
    found(None)
}

/// Returns the client of this name: the one of the [`Scope`], or else the installed one.
///
/// # Errors
///
/// [`LockError::NotInstalled`] if no client has this name, and [`LockError::Closed`] if it was shut down by [`shutdown`].
pub fn named_client(name: &str) -> Result<Client, LockError> {
    found(Some(name))
}

/// Returns whether annotated functions can run here: the worst readiness of all clients that they can find by a name
/// or without one.
///
/// A client of a [`Scope`] takes the place of the installed client of the same name.
///
/// It is meant for health endpoints such as `/readyz`: it neither waits nor fails. If there is no client, it returns
/// [`Readiness::Closing`] after a [`shutdown`], and [`Readiness::NotInstalled`] before.
///
/// # Examples
///
/// ```
/// assert_eq!(zklock::readiness(), zklock::Readiness::NotInstalled);
/// ```
pub fn readiness() -> Readiness {
    let mut clients = installed();
    clients.extend(scoped().all());
    let none = if clients.has_closed() { Readiness::Closing } else { Readiness::NotInstalled };
    clients.iter().map(Client::readiness).max().unwrap_or(none)
}

/// Runs a future in which `client` takes the place of the installed one, for tests and tenants.
///
/// [`Scope`] also has clients with names.
///
/// # Cancel safety
///
/// The same as that of `future`.
pub fn scope<F: Future>(client: Client, future: F) -> impl Future<Output = F::Output> {
    Scope::new().client(client).run(future)
}

/// Spawns a task that belongs to the current logical call and uses its scoped clients.
///
/// The task can reenter the locks that the call holds. Tasks of one call exclude each other under such a
/// lock, unless they only read. A task keeps a lock held only while it has entered it: once the call has
/// ended, the task contends for the lock like any other caller.
///
/// # Panics
///
/// Panics outside of a Tokio runtime, like `tokio::spawn`.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    tokio::spawn(SCOPED.scope(scoped(), zklock_core::inherit(future)))
}

/// Runs blocking code on a thread for that, on behalf of the current logical call and with its scoped client.
///
/// It is [`spawn`] for code that is not async. Functions under
/// [`#[distributed_lock]`](macro@crate::distributed_lock) that are not async can reenter there the locks that the call
/// holds. The thread keeps a lock held only while it has entered it.
///
/// # Panics
///
/// Panics outside of a Tokio runtime, like `tokio::task::spawn_blocking`.
///
/// # Examples
///
/// ```no_run
/// use zklock::{LockError, distributed_lock};
///
/// #[distributed_lock(path = "/invoices/{id}")]
/// fn render(id: u64) -> Result<String, LockError> {
///     // Blocking work under the lock.
///     Ok(format!("invoice {id}"))
/// }
///
/// #[distributed_lock(path = "/invoices/{id}")]
/// async fn send(id: u64) -> Result<(), Box<dyn std::error::Error>> {
///     // The same lock is entered again.
///     let invoice = zklock::spawn_blocking(move || render(id)).await??;
///     Ok(())
/// }
/// ```
pub fn spawn_blocking<T: Send + 'static>(function: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let (scoped, function) = (scoped(), zklock_core::inherit_blocking(function));
    tokio::task::spawn_blocking(move || SCOPED.sync_scope(scoped, function))
}

/// Shuts down all installed clients: refuses new calls, waits up to `grace` for bodies under locks and of leaders to
/// end, gives up the locks and leaderships, and closes the sessions.
///
/// Afterwards, new clients can be installed. Until then, calls that need one fail with [`LockError::Closed`].
///
/// # Cancel safety
///
/// A shutdown that has begun continues in the background, and the clients stay installed.
pub async fn shutdown(grace: Duration) {
    // The clients stay installed meanwhile, because bodies that are still running may look them up.
    let clients = installed();
    join_all(clients.iter().map(|client| client.shutdown(grace))).await;
    // A concurrent shutdown may have removed the clients, and new ones may have been installed since.
    INSTALLED.write().unwrap_or_else(PoisonError::into_inner).remove(&clients);
}

/// Returns the installed clients, so that no code runs under their lock.
fn installed() -> Clients {
    INSTALLED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn insert(name: Option<String>, client: Client) -> Result<(), LockError> {
    let mut installed = INSTALLED.write().unwrap_or_else(PoisonError::into_inner);
    if installed.get(name.as_deref()).is_some() {
        return Err(LockError::AlreadyInstalled { name });
    }
    installed.insert(name, client);
    Ok(())
}

fn found(name: Option<&str>) -> Result<Client, LockError> {
    if let Some(client) = scoped().get(name) {
        return Ok(client);
    }
    let installed = INSTALLED.read().unwrap_or_else(PoisonError::into_inner);
    installed.get(name).ok_or_else(|| {
        let name = name.map(str::to_owned);
        match installed.is_closed(&name) {
            true => LockError::Closed { path: String::new() },
            false => LockError::NotInstalled { name, path: None },
        }
    })
}

/// Adds the path to an error about a client that is not installed, or not any more.
pub(crate) fn about(error: LockError, path: &str) -> LockError {
    match error {
        LockError::NotInstalled { name, .. } => LockError::NotInstalled { name, path: Some(path.to_owned()) },
        LockError::Closed { path: unknown, .. } if unknown.is_empty() => {
            LockError::Closed { path: path.to_owned() }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use zklock_core::Config;
    use zklock_testkit::EmbeddedServer;

    use super::*;

    #[track_caller]
    fn check(found: Result<Client, LockError>, expected: &Client) {
        assert!(found.unwrap().is_same(expected));
    }

    /// No other test of this binary may install a client.
    #[tokio::test]
    async fn a_client_is_found_in_the_scope_or_else_among_the_installed_ones() {
        let server = EmbeddedServer::start().unwrap();
        let connect = || Config::new(server.connect_string()).connect();
        let (first, second, tenant) =
            (connect().await.unwrap(), connect().await.unwrap(), connect().await.unwrap());
        install_as("reporting", second.clone()).unwrap();
        assert!(client().is_err(), "a named client is not the default one");
        install(first.clone()).unwrap();
        check(client(), &first);
        check(scope(tenant.clone(), async { client() }).await, &tenant);
        install(second.clone()).unwrap_err();
        check(client(), &first);
        shutdown(Duration::ZERO).await;
        assert!(client().unwrap_err().is_closed() && named_client("reporting").unwrap_err().is_closed());
        assert!(!named_client("other").unwrap_err().is_closed());
        install(second.clone()).unwrap();
        check(client(), &second);
        shutdown(Duration::ZERO).await;
    }
}
