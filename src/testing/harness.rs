//! The harness that gives a test its runtime, server, client and arguments.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use zklock_core::Client;

use crate::global::Ambient;

use super::server::TestServer;

/// Runs tests as [`#[zklock::test]`](macro@crate::test) does, where an attribute cannot be used.
///
/// ```
/// use zklock::testing::Harness;
///
/// Harness::new().run(async |zk| {
///     let _rival = zk.hold("/orders/7").await;
///     let mutex = zklock::client()?.mutex("/orders/7")?;
///     assert!(mutex.try_lock().await?.is_none());
///     Ok::<(), zklock::LockError>(())
/// })?;
/// # Ok::<(), zklock::LockError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a harness does nothing until `run` is called"]
pub struct Harness {
    flavor: Flavor,
    session_timeout: Duration,
}

/// The flavor of a test's runtime.
#[derive(Clone, Copy, Debug)]
enum Flavor {
    CurrentThread,
    /// The number of threads; without one, one thread per processor.
    MultiThread(Option<usize>),
}

impl Default for Harness {
    fn default() -> Self {
        Self::new()
    }
}

impl Harness {
    /// Creates a harness that runs tests on the calling thread, with a session timeout of 10 s.
    pub fn new() -> Self {
        Self { flavor: Flavor::CurrentThread, session_timeout: Duration::from_secs(10) }
    }

    /// Runs tests on a multi-thread runtime with one thread per processor.
    pub fn multi_thread(mut self) -> Self {
        self.flavor = Flavor::MultiThread(None);
        self
    }

    /// Runs tests on a multi-thread runtime with this number of threads, at least one.
    ///
    /// # Panics
    ///
    /// [`run`](Self::run) panics if the number is zero.
    pub fn worker_threads(mut self, threads: usize) -> Self {
        self.flavor = Flavor::MultiThread(Some(threads));
        self
    }

    /// Sets the session timeout of the clients, 10 s by default. The server raises less than 100 ms to that.
    ///
    /// The lock of a client that can no longer reach the server becomes free after this time. The client
    /// itself learns of the loss earlier. On a busy machine, a short timeout can expire although the client
    /// is alive.
    ///
    /// # Panics
    ///
    /// [`run`](Self::run) panics if it is zero or longer than 24 hours.
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session_timeout = timeout;
        self
    }

    /// Runs a test with its own server and client, and ends both afterwards, even if the test panics.
    ///
    /// Inside, annotated functions use the client in place of an installed one, and [`client`](crate::client) returns
    /// it. Every task and every thread of the test's runtime finds the same client: under `tokio::spawn`, in a
    /// `JoinSet`, in an HTTP server, and under `spawn_blocking`. Threads and runtimes that the test itself starts have
    /// no client. When the test ends, so do its tasks. A lock that is still held does not keep the test from ending.
    ///
    /// # Panics
    ///
    /// Panics if the test panics, if called inside of a Tokio runtime, or if no port or thread is available.
    pub fn run<T>(self, body: impl AsyncFnOnce(TestServer) -> T) -> T {
        let clients = Ambient::default();
        let runtime = self.runtime(&clients);
        let server = TestServer::start(self.session_timeout, clients.clone());
        let test = async {
            clients.insert(None, server.client().await);
            body(server.clone()).await
        };
        let run = || clients.on_this_thread(|| runtime.block_on(test));
        let outcome = catch_unwind(AssertUnwindSafe(run));
        runtime.shutdown_timeout(TASKS_END_WITHIN);
        clients.clear();
        // A separate runtime, which nothing left of the test can block.
        teardown().block_on(server.end());
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Returns a runtime whose threads, also those for blocking work, find the clients.
    fn runtime(&self, clients: &Ambient) -> Runtime {
        let mut builder = match self.flavor {
            Flavor::CurrentThread => Builder::new_current_thread(),
            Flavor::MultiThread(threads) => {
                let mut builder = Builder::new_multi_thread();
                threads.map(|threads| builder.worker_threads(threads));
                builder
            }
        };
        let clients = clients.clone();
        builder.on_thread_start(move || clients.adopt_thread());
        builder.enable_all().build().expect("the test's runtime should start")
    }
}

fn teardown() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("the runtime for the end of the test should start")
}

/// The limit on waiting for blocking tasks; other tasks end at their next await.
const TASKS_END_WITHIN: Duration = Duration::from_secs(1);

/// A type that a function under [`#[zklock::test]`](macro@crate::test) can take as an argument.
///
/// [`Client`] yields the client that annotated functions use in the test, and [`TestServer`] the server of
/// the test. Implement the trait for the setup that your tests share:
///
/// ```
/// use zklock::testing::{FromTestServer, TestServer};
///
/// struct App {
///     locks: zklock::Client,
/// }
///
/// impl FromTestServer for App {
///     async fn from_test_server(server: &TestServer) -> Self {
///         Self { locks: server.client().await }
///     }
/// }
///
/// #[zklock::test]
/// async fn orders_can_be_locked(app: App) -> Result<(), zklock::LockError> {
///     app.locks.mutex("/orders/7")?.lock().await?.release().await
/// }
/// # zklock::testing::Harness::new().run(async |server| {
/// #     let app = App::from_test_server(&server).await;
/// #     app.locks.mutex("/orders/7")?.lock().await?.release().await
/// # })?;
/// # Ok::<(), zklock::LockError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a test",
    label = "a test takes `zklock::Client` and `zklock::testing::TestServer`",
    note = "implement `zklock::testing::FromTestServer` for a type of your own"
)]
pub trait FromTestServer: Sized {
    /// Creates the argument before the test begins.
    fn from_test_server(server: &TestServer) -> impl Future<Output = Self>;
}

impl FromTestServer for TestServer {
    async fn from_test_server(server: &TestServer) -> Self {
        server.clone()
    }
}

impl FromTestServer for Client {
    async fn from_test_server(_: &TestServer) -> Self {
        crate::client().expect("the test should run inside its harness, which provides a client")
    }
}
