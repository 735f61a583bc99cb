//! The clients of a scope, and those of the test around it.

use std::cell::RefCell;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use zklock_core::Client;

use super::clients::Clients;

tokio::task_local! {
    pub(super) static SCOPED: Scoped;
}

/// Whether a scope or a test was entered in this process. Until then, the search for a client skips both.
///
/// It is set before that, on the same thread, or before the future moves to another thread. A call inside of a scope or of a
/// test therefore reads `true`.
static IS_USED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The clients of the test that this thread belongs to.
    static AMBIENT: RefCell<Option<Ambient>> = const { RefCell::new(None) };
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
        let Scoped { scope, ambient } = scoped();
        let mut clients = scope.map_or_else(Clients::new, |scope| scope.clients.clone());
        clients.extend(self.clients);
        note_use();
        SCOPED.scope(Scoped { scope: Some(Arc::new(Self { clients })), ambient }, future)
    }
}

/// The clients that are found at a place in the program before the installed ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoped {
    scope: Option<Arc<Scope>>,
    ambient: Option<Ambient>,
}

impl Scoped {
    /// Looks at the client of this name; the default client has no name.
    fn look_for<T>(&self, name: Option<&str>, look: impl Fn(&Client) -> T) -> Option<T> {
        let scoped = self.scope.as_ref().and_then(|scope| scope.clients.get(name).map(&look));
        scoped.or_else(|| self.ambient.as_ref()?.look_for(name, look))
    }

    /// Returns all clients.
    pub(super) fn all(&self) -> Clients {
        let ambient = self.ambient.as_ref();
        let mut clients =
            ambient.map_or_else(Clients::new, |ambient| ambient.read(|scope| scope.clients.clone()));
        if let Some(scope) = &self.scope {
            clients.extend(scope.clients.clone());
        }
        clients
    }
}

/// Looks at the client of this name that is found here; the default client has no name.
#[inline]
pub(super) fn look_for_scoped<T>(name: Option<&str>, look: impl Fn(&Client) -> T) -> Option<T> {
    if !IS_USED.load(Ordering::Relaxed) {
        return None;
    }
    // The clients of a task come with those of its test.
    let look_here = |scoped: &Scoped| (scoped.look_for(name, &look), scoped.ambient.is_some());
    let (found, is_of_test) = SCOPED.try_with(look_here).unwrap_or((None, false));
    if found.is_some() || is_of_test {
        return found;
    }
    AMBIENT.with_borrow(|ambient| ambient.as_ref()?.look_for(name, look))
}

/// Lets calls look for scopes from now on.
fn note_use() {
    IS_USED.store(true, Ordering::Relaxed);
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
pub(crate) struct Ambient(Arc<RwLock<Scope>>);

impl Ambient {
    fn look_for<T>(&self, name: Option<&str>, look: impl Fn(&Client) -> T) -> Option<T> {
        self.read(|scope| scope.clients.get(name).map(look))
    }

    fn read<T>(&self, look: impl FnOnce(&Scope) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(feature = "testing")]
impl Ambient {
    /// Adds a client, which replaces the one of the same name; the default client has no name.
    pub(crate) fn insert(&self, name: Option<String>, client: Client) {
        self.write(|scope| scope.clients.insert(name, client));
    }

    pub(crate) fn clear(&self) {
        // The clients are dropped after the lock is free.
        drop(self.write(std::mem::take));
    }

    /// Lets code on this thread find the clients as long as the thread lives.
    pub(crate) fn adopt_thread(&self) {
        note_use();
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

        note_use();
        let _before = Before(AMBIENT.replace(Some(self.clone())));
        SCOPED.sync_scope(Scoped { scope: None, ambient: Some(self.clone()) }, run)
    }

    fn write<T>(&self, change: impl FnOnce(&mut Scope) -> T) -> T {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}
