//! The arguments of a test.

use std::future::Future;

use zklock_core::Client;

use super::server::TestServer;

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
