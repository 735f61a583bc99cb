//! Clients of tests: those without a thread, and those of an embedded server.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use zklock_testkit::EmbeddedServer;

use super::Client;
use super::config::Config;
use super::worker::Worker;

/// Starts a server, and returns it with a client that is connected to it.
pub(crate) async fn connected() -> (EmbeddedServer, Client) {
    let server = EmbeddedServer::start().unwrap();
    let client = Config::new(server.connect_string()).connect().await.unwrap();
    (server, client)
}

impl Config {
    /// Returns the worker of a client without a thread.
    pub(crate) fn staged(self, runtime: Handle) -> Arc<Worker> {
        let settings = self.validated().expect("a valid configuration");
        Arc::new(Worker::new(settings, runtime, CancellationToken::new()))
    }
}
