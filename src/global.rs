//! The clients of the process: one by default, others by name, and one per future for tests and tenants.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::JoinHandle;
use zklock_core::{Client, LockError, Readiness};

/// The installed clients; the default one has no name, and is therefore found first.
static INSTALLED: RwLock<BTreeMap<Option<String>, Client>> = RwLock::new(BTreeMap::new());

tokio::task_local! {
    static SCOPED: Option<Client>;
}

/// Installs the default client of this process, which annotated functions use.
///
/// Applications install a client; libraries take one as an argument.
///
/// # Errors
///
/// [`LockError::AlreadyInstalled`] if there is one; it stays.
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
/// [`LockError::AlreadyInstalled`] if there is one of this name; it stays.
pub fn install_as(name: impl Into<String>, client: Client) -> Result<(), LockError> {
    insert(Some(name.into()), client)
}

/// The client that an annotated function would use here: the scoped one, or else the installed one.
///
/// # Errors
///
/// [`LockError::NotInstalled`] if there is neither.
pub fn client() -> Result<Client, LockError> {
    scoped().map_or_else(|| installed(None), Ok)
}

/// The client installed under this name.
///
/// # Errors
///
/// [`LockError::NotInstalled`] if there is none.
pub fn named_client(name: &str) -> Result<Client, LockError> {
    installed(Some(name.to_owned()))
}

/// Whether annotated functions can run here: as the scoped client says, or else the worst of all installed ones.
///
/// It is meant for health endpoints such as `/readyz`: it neither waits nor fails, and without a client it says
/// [`Readiness::NotInstalled`].
///
/// # Examples
///
/// ```
/// assert_eq!(zklock::readiness(), zklock::Readiness::NotInstalled);
/// ```
pub fn readiness() -> Readiness {
    if let Some(client) = scoped() {
        return client.readiness();
    }
    let installed = INSTALLED.read().unwrap_or_else(PoisonError::into_inner);
    installed.values().map(Client::readiness).max().unwrap_or(Readiness::NotInstalled)
}

/// Runs a future in which `client` takes the place of the installed one, for tests and tenants.
///
/// # Cancel safety
///
/// That of the future.
pub fn scope<F: Future>(client: Client, future: F) -> impl Future<Output = F::Output> {
    SCOPED.scope(Some(client), future)
}

/// Spawns a task that holds what the current call holds, and uses its scoped client.
///
/// Inside, the same locks are entered again, one task at a time. A task prolongs a lock only while it has
/// entered it: once the call that holds it has ended, the task contends like any other.
///
/// # Panics
///
/// Outside a Tokio runtime, like `tokio::spawn`.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    tokio::spawn(SCOPED.scope(scoped(), zklock_core::inherit(future)))
}

/// Shuts all installed clients down: refuses new locks, waits up to `grace` for bodies to end, releases,
/// and closes the sessions. Afterwards clients can be installed anew.
///
/// # Cancel safety
///
/// Clients whose shutdown has begun end in the background, and stay installed.
pub async fn shutdown(grace: Duration) {
    // The bodies that are waited for go on to find their client.
    let clients = INSTALLED.read().unwrap_or_else(PoisonError::into_inner).clone();
    join_all(clients.values().map(|client| client.shutdown(grace))).await;
    let mut installed = INSTALLED.write().unwrap_or_else(PoisonError::into_inner);
    // Another shutdown may have been faster, and others may be installed by now.
    installed.retain(|name, client| {
        let is_ended = clients.get(name).is_some_and(|ended| ended.is_same(client));
        !is_ended
    });
}

fn scoped() -> Option<Client> {
    SCOPED.try_with(Clone::clone).ok().flatten()
}

fn insert(name: Option<String>, client: Client) -> Result<(), LockError> {
    let mut installed = INSTALLED.write().unwrap_or_else(PoisonError::into_inner);
    if installed.contains_key(&name) {
        return Err(LockError::AlreadyInstalled { name });
    }
    installed.insert(name, client);
    Ok(())
}

fn installed(name: Option<String>) -> Result<Client, LockError> {
    let installed = INSTALLED.read().unwrap_or_else(PoisonError::into_inner);
    let client = installed.get(&name).cloned();
    client.ok_or(LockError::NotInstalled { name, path: None })
}
