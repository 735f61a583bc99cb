//! Servers that fall silent: they keep their connections, and answer nothing.

use std::time::Duration;

use zklock::{Client, Config, Health, Heartbeat, LeaseState};
use zklock_testkit::{Direction, Proxy};

use crate::support::{Server, TICK, until};

const PATH: &str = "/orders";
/// The default session timeout.
const DEFAULT: Duration = Duration::from_secs(30);

/// A server that is reached by several addresses, each of which can fall silent.
struct Addresses(Vec<Proxy>);

impl Addresses {
    fn of(server: &Server, count: usize) -> Self {
        Self((0..count).map(|_| Proxy::start(server.address()).expect("a proxy starts")).collect())
    }

    fn config(&self) -> Config {
        Config::new(self.0.iter().map(Proxy::connect_string).collect::<Vec<_>>().join(","))
    }

    /// Returns the addresses, that of the client's connection first.
    fn from(&self, client: &Client) -> Vec<&Proxy> {
        let session = client.session_id().expect("the client has a session");
        let mut addresses: Vec<_> = self.0.iter().collect();
        addresses.sort_by_key(|proxy| !proxy.sessions().contains(&session));
        assert!(addresses[0].sessions().contains(&session));
        addresses
    }
}

/// Holds a lock while the address that the client uses, and more of them, fall silent.
async fn hold_while_silent(addresses: &Addresses, config: Config, silent: usize) {
    let client = config.connect().await.unwrap();
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let in_use_first = addresses.from(&client);
    let (silent, others) = in_use_first.split_at(silent);
    silent.iter().for_each(|proxy| proxy.blackhole(Direction::Both));
    let session = client.session_id().unwrap();
    let is_served = |proxy: &Proxy| proxy.sessions().contains(&session);
    until(|| async { others.iter().any(|proxy| is_served(proxy)) }, "another server serves the client").await;
    until(|| async { guard.state() != LeaseState::Suspended }, "the lock is confirmed or lost").await;
    assert_eq!(guard.state(), LeaseState::Held);
    silent.iter().for_each(|proxy| proxy.heal());
    guard.verify().await.unwrap();
}

#[cfg(soak)]
#[tokio::test]
async fn a_lock_outlives_the_silence_of_one_of_two_servers_with_default_settings() {
    let server = Server::start_granting(DEFAULT);
    let addresses = Addresses::of(&server, 2);
    hold_while_silent(&addresses, addresses.config(), 1).await;
}

#[tokio::test]
async fn a_lock_outlives_the_silence_of_two_of_five_servers_with_a_short_session() {
    let server = Server::start();
    let addresses = Addresses::of(&server, 5);
    let config = addresses.config().session_timeout(Duration::from_secs(10)).tick_time(TICK);
    hold_while_silent(&addresses, config, 2).await;
}

#[tokio::test]
async fn a_lease_that_reads_prove_outlives_the_silence_of_its_server() {
    let server = Server::start_granting(DEFAULT);
    let addresses = Addresses::of(&server, 3);
    // Reads prove a lease for 11.2 s, which the default of 2.5 s would use up if the silent server is tried twice.
    let config = addresses.config().server_timeout(Duration::from_secs(1));
    hold_while_silent(&addresses, config.heartbeat(Heartbeat::Read), 1).await;
}

#[tokio::test]
async fn a_slow_server_keeps_its_connections_and_locks() {
    let server = Server::start_granting(DEFAULT);
    let addresses = Addresses::of(&server, 1);
    let client = addresses.config().connect().await.unwrap();
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let proxy = addresses.from(&client)[0];
    let connections = proxy.connections();
    // The client gives a server up after 2.5 s.
    proxy.delay(Direction::Both, Duration::from_millis(300));
    guard.verify().await.unwrap();
    guard.verify().await.unwrap();
    proxy.heal();
    assert_eq!((client.health(), guard.state()), (Health::Connected, LeaseState::Held));
    assert_eq!(proxy.connections(), connections, "the connection was kept");
}
