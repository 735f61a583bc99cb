use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

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

/// What the runtime of a test is like.
#[derive(Clone, Copy, Debug)]
enum Flavor {
    CurrentThread,
    /// With as many threads as the machine has processors, unless told otherwise.
    MultiThread(Option<usize>),
}

impl Default for Harness {
    fn default() -> Self {
        Self::new()
    }
}

impl Harness {
    /// Runs tests on the thread that calls, and with sessions of 10 s.
    pub fn new() -> Self {
        Self { flavor: Flavor::CurrentThread, session_timeout: Duration::from_secs(10) }
    }

    /// Runs tests on a runtime with a thread for each processor.
    pub fn multi_thread(mut self) -> Self {
        self.flavor = Flavor::MultiThread(None);
        self
    }

    /// Runs tests on a runtime with so many threads, at least one.
    ///
    /// # Panics
    ///
    /// [`run`](Self::run) does when there are none.
    pub fn worker_threads(mut self, threads: usize) -> Self {
        self.flavor = Flavor::MultiThread(Some(threads));
        self
    }

    /// Sets the timeout of the clients' sessions, of at least 100 ms.
    ///
    /// After so long is the lock of a client free that cannot reach the server any more, and sooner does that
    /// client know. Short ones are lost on machines that are busy.
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session_timeout = timeout;
        self
    }

    /// Runs a test with a server and a client of its own, and ends both afterwards, even if the test panics.
    ///
    /// Inside, annotated functions use the client in place of an installed one, and [`client`](crate::client)
    /// gives it. Tasks inherit it from [`spawn`](crate::spawn), and not from `tokio::spawn`. When the test
    /// ends, so do its tasks, and whoever holds a lock then does not keep it from ending.
    ///
    /// # Panics
    ///
    /// When the test does; inside of a Tokio runtime; when there is no port or no thread to be had.
    pub fn run<T>(self, body: impl AsyncFnOnce(TestServer) -> T) -> T {
        let runtime = self.runtime();
        let server = TestServer::start(self.session_timeout);
        let test = async {
            let client = server.client().await;
            crate::scope(client, body(server.clone())).await
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(test)));
        runtime.shutdown_timeout(TASKS_END_WITHIN);
        // Nothing of the test can be in the way of what ends it.
        teardown().block_on(server.end());
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn runtime(&self) -> Runtime {
        let mut builder = match self.flavor {
            Flavor::CurrentThread => Builder::new_current_thread(),
            Flavor::MultiThread(threads) => {
                let mut builder = Builder::new_multi_thread();
                threads.map(|threads| builder.worker_threads(threads));
                builder
            }
        };
        builder.enable_all().build().expect("the test's runtime should start")
    }
}

fn teardown() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("the runtime for the end of the test should start")
}

/// Bounds the end of blocking tasks; others end at their next await.
const TASKS_END_WITHIN: Duration = Duration::from_secs(1);
