//! Clients of tests: those without a thread, and those of an embedded server.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use zklock_testkit::EmbeddedServer;

use super::Client;
use super::config::Config;
use super::worker::Worker;
use crate::tasks::Tasks;

/// Starts a server, and returns it with a client that is connected to it.
pub(crate) async fn connected() -> (EmbeddedServer, Client) {
    let server = EmbeddedServer::start().unwrap();
    let client = Config::new(server.connect_string()).connect().await.unwrap();
    (server, client)
}

impl Config {
    /// Returns the worker of a client without a thread, whose tasks run in the schedule of a test.
    pub(crate) fn staged(self) -> Arc<Worker> {
        let settings = self.validated().expect("a valid configuration");
        Arc::new(Worker::new(settings, Tasks::new().0, CancellationToken::new()))
    }
}
