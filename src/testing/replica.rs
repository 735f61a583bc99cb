//! A client of a test, behind a proxy that injects faults.

use zklock_core::{Client, Config};
use zklock_testkit::{Direction, How, Proxy, Rule, wire::Opcode};

/// A client of a test, and the proxy between it and the server.
#[derive(Debug)]
pub(super) struct Replica {
    client: Client,
    proxy: Proxy,
}

impl Replica {
    /// Connects a client through its own proxy.
    pub(super) async fn connect(proxy: Proxy, config: Config) -> Self {
        match config.connect().await {
            Ok(client) => Self { client, proxy },
            Err(error) => panic!("the test's server did not accept a client: {error}"),
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Stops all traffic between the client and the server.
    pub(super) fn partition(&self) {
        self.proxy.blackhole(Direction::Both);
    }

    pub(super) fn heal(&self) {
        self.proxy.heal();
    }

    /// Cuts the connection in place of the reply that reports the creation of a node.
    pub(super) fn drop_reply(&self) -> Rule {
        self.proxy.on_success(Opcode::CREATE2).cut(How::Fin)
    }
}
