//! The clients of a scope, and those of the test around it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};

use zklock_core::Client;

tokio::task_local! {
    pub(super) static SCOPED: Scoped;
}

thread_local! {
    /// The clients of the test that this thread belongs to.
    static AMBIENT: RefCell<Option<Ambient>> = const { RefCell::new(None) };
}

/// Clients by name; the default client has no name.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients {
    clients: BTreeMap<Option<String>, Client>,
    /// The names of clients that are shut down and removed, and that no other client has since.
    closed: BTreeSet<Option<String>>,
}

impl Clients {
    pub(super) const fn new() -> Self {
        Self { clients: BTreeMap::new(), closed: BTreeSet::new() }
    }

    pub(super) fn get(&self, name: Option<&str>) -> Option<Client> {
        self.clients.get(&name.map(str::to_owned)).cloned()
    }

    /// Adds a client, and returns the one of the same name that it replaces.
    pub(super) fn insert(&mut self, name: Option<String>, client: Client) -> Option<Client> {
        self.closed.remove(&name);
        self.clients.insert(name, client)
    }

    /// Adds these clients, which replace those of the same names.
    pub(super) fn extend(&mut self, clients: Self) {
        self.clients.extend(clients.clients);
    }

    /// Removes those of these clients that are still here under their names. They are shut down.
    pub(super) fn remove(&mut self, clients: &Self) {
        self.clients.retain(|name, client| {
            let is_over = clients.clients.get(name).is_some_and(|other| other.is_same(client));
            is_over.then(|| self.closed.insert(name.clone()));
            !is_over
        });
    }

    /// Returns whether the last client of this name was shut down and removed.
    pub(super) fn is_closed(&self, name: &Option<String>) -> bool {
        self.closed.contains(name)
    }

    pub(super) fn has_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.clients.values()
    }
}

/// Clients that take the place of the installed ones while a future runs, for tests and tenants.
///
/// [`scope`](crate::scope) is the short form for a single client. Clients that the scope does not have are those
/// of the scope around it, and then the installed ones.
///
/// # Examples
///
/// ```
/// use zklock::{Client, LockError, Scope, distributed_lock};
///
/// #[distributed_lock(path = "/reports/{day}", client = "reporting")]
/// async fn report(day: u32) -> Result<(), LockError> {
///     Ok(())
/// }
///
/// async fn report_for(tenant: Client, reporting: Client) -> Result<(), LockError> {
///     let scope = Scope::new().client(tenant).named("reporting", reporting);
///     scope.run(report(7)).await
/// }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a scope does nothing until `run` is called"]
pub struct Scope {
    clients: Clients,
}

impl Scope {
    /// Creates a scope without clients of its own.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the client of functions that name no other one.
    pub fn client(mut self, client: Client) -> Self {
        self.clients.insert(None, client);
        self
    }

    /// Sets the client of functions annotated with `client = "name"`.
    pub fn named(mut self, name: impl Into<String>, client: Client) -> Self {
        self.clients.insert(Some(name.into()), client);
        self
    }

    /// Runs a future with the clients of this scope, and of the scope around this call.
    ///
    /// # Cancel safety
    ///
    /// The same as that of `future`.
    pub fn run<F: Future>(self, future: F) -> impl Future<Output = F::Output> {
        let mut scoped = scoped();
        Arc::make_mut(&mut scoped.clients).extend(self.clients);
        SCOPED.scope(scoped, future)
    }
}

/// The clients that are found at a place in the program before the installed ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoped {
    /// Those of the scopes around the place.
    clients: Arc<Clients>,
    ambient: Option<Ambient>,
}

impl Scoped {
    /// Returns the client of this name; the default client has no name.
    pub(super) fn get(&self, name: Option<&str>) -> Option<Client> {
        self.clients.get(name).or_else(|| self.ambient.as_ref()?.clients().get(name))
    }

    /// Returns all clients.
    pub(super) fn all(&self) -> Clients {
        let mut clients = self.ambient.as_ref().map(Ambient::clients).unwrap_or_default();
        clients.extend((*self.clients).clone());
        clients
    }
}

/// Returns the clients that are found here. They can be carried into another task.
pub(super) fn scoped() -> Scoped {
    let mut scoped = SCOPED.try_with(Clone::clone).unwrap_or_default();
    if scoped.ambient.is_none() {
        scoped.ambient = AMBIENT.with_borrow(Clone::clone);
    }
    scoped
}

/// The clients of a test. Code on the threads of the test finds them beneath the scopes, in whatever task it runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ambient(Arc<RwLock<Clients>>);

impl Ambient {
    fn clients(&self) -> Clients {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(feature = "testing")]
impl Ambient {
    /// Adds a client, which replaces the one of the same name; the default client has no name.
    pub(crate) fn insert(&self, name: Option<String>, client: Client) {
        drop(self.write(|clients| clients.insert(name, client)));
    }

    pub(crate) fn clear(&self) {
        // The clients are dropped after the lock is free.
        drop(self.write(std::mem::take));
    }

    /// Lets code on this thread find the clients as long as the thread lives.
    pub(crate) fn adopt_thread(&self) {
        AMBIENT.set(Some(self.clone()));
    }

    /// Lets code on this thread find the clients, and those of an enclosing scope no more, until `run` has ended.
    pub(crate) fn on_this_thread<T>(&self, run: impl FnOnce() -> T) -> T {
        /// Restores the clients of an enclosing test, also after a panic.
        struct Before(Option<Ambient>);

        impl Drop for Before {
            fn drop(&mut self) {
                AMBIENT.set(self.0.take());
            }
        }

        let _before = Before(AMBIENT.replace(Some(self.clone())));
        SCOPED.sync_scope(Scoped { clients: Arc::default(), ambient: Some(self.clone()) }, run)
    }

    fn write<T>(&self, change: impl FnOnce(&mut Clients) -> T) -> T {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}
