//! Clients of tests.

use zklock_testkit::EmbeddedServer;

use super::Client;
use super::config::Config;

/// Starts a server, and returns it with a client that is connected to it.
pub(crate) async fn connected() -> (EmbeddedServer, Client) {
    let server = EmbeddedServer::start().unwrap();
    let client = Config::new(server.connect_string()).connect().await.unwrap();
    (server, client)
}
