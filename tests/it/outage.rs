//! Servers that stop answering or fall silent, and come back.

use std::future::ready;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use zklock::{Config, Health, Heartbeat, LeaseState, LockError, LossReason, MutexGuard, Phase, Readiness};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Direction, How, Proxy};

use crate::support::{PATIENCE, QUICK_SESSION, QUICK_TICK, Server, TICK, failed, lock, soon, until};

const PATH: &str = "/outage";

async fn until_state(guard: &MutexGuard, state: LeaseState) {
    until(|| async { guard.state() == state }, "the lease has its state").await;
}

#[tokio::test]
async fn a_connection_that_breaks_while_it_is_restored_is_not_taken_for_one() {
    let server = Server::start_quick();
    let proxy = Proxy::start(server.address()).unwrap();
    let config = Config::new(proxy.connect_string()).session_timeout(QUICK_SESSION).tick_time(QUICK_TICK);
    let client = config.connect().await.unwrap();
    let return_ = proxy.on_request(Opcode::CREATE_SESSION).always().hold();
    proxy.cut(How::Fin);
    soon(return_.struck()).await;
    until(|| async { client.health() == Health::Suspended }, "the client noticed").await;
    // The server accepts the session, and then the proxy is gone.
    let ping = proxy.on_request(Opcode::PING).always().hold();
    return_.release();
    soon(ping.struck()).await;
    drop(proxy);
    let mut seen = vec![Health::Suspended];
    let is_lost = || {
        seen.push(client.health());
        ready(seen.ends_with(&[Health::Lost]))
    };
    until(is_lost, "the session is lost").await;
    seen.dedup();
    assert_eq!(seen, [Health::Suspended, Health::Lost]);
}

fn addresses(server: &Server, count: usize) -> (Vec<Proxy>, Config) {
    let proxies: Vec<_> = (0..count).map(|_| Proxy::start(server.address()).unwrap()).collect();
    let config = Config::new(proxies.iter().map(Proxy::connect_string).collect::<Vec<_>>().join(","));
    (proxies, config)
}

/// The units of `session::reconnect` have longer outages.
#[tokio::test]
async fn a_lock_outlives_servers_that_all_refuse_for_a_third_of_the_session_timeout() {
    const SESSION: Duration = Duration::from_secs(6);
    let server = Server::start_granting(SESSION);
    let holders = [1, 2, 3].map(async |servers| {
        let (proxies, config) = addresses(&server, servers);
        let client = config.session_timeout(SESSION).connect().await.unwrap();
        let guard = lock(&client, &format!("/refused/{servers}")).await;
        let beats = || proxies.iter().map(|proxy| proxy.replies(Opcode::MULTI)).sum::<u64>();
        let before = beats();
        until(|| async { beats() > before }, "a heartbeat is answered").await;
        for proxy in &proxies {
            proxy.refuse();
            proxy.cut(How::Fin);
        }
        until_state(&guard, LeaseState::Suspended).await;
        // This test is about the length of the outage.
        sleep(SESSION / 3).await;
        assert_eq!(guard.state(), LeaseState::Suspended);
        proxies.iter().for_each(Proxy::heal);
        let back = Instant::now();
        until(|| async { guard.state() != LeaseState::Suspended }, "the lock is confirmed or lost").await;
        assert_eq!(guard.state(), LeaseState::Held, "{servers} servers");
        assert!(back.elapsed() < Duration::from_millis(1500), "{servers} servers: {:?}", back.elapsed());
    });
    futures_util::future::join_all(holders).await;
}

const SHORT: Duration = Duration::from_millis(100);

#[tokio::test]
async fn nothing_hangs_past_its_deadline_during_an_outage() {
    let server = Server::start();
    let config = Config::new(server.connect_string()).default_wait(SHORT).tick_time(TICK);
    let client = config.connect().await.unwrap();
    let guard = lock(&client, PATH).await;
    let several = soon(client.multi(["/a", "/b"]).unwrap().lock_timeout(Duration::MAX)).await.unwrap();
    let shelf = client.rwlock("/shelf").unwrap();
    let writer = soon(shelf.write_timeout(Duration::MAX)).await.unwrap();
    let reader = soon(writer.scope(shelf.read())).await.unwrap();
    server.pause().unwrap();
    let (mutex, other) = (client.mutex(PATH).unwrap(), client.mutex("/free").unwrap());
    let phase_at = |at: &str, error: LockError| match error {
        LockError::Timeout { path, phase, .. } if path == at => phase,
        other => panic!("expected a timeout for {at}, got: {other}"),
    };
    let phase = |error| phase_at(PATH, error);
    assert_eq!(phase_at("/free", failed(soon(other.lock_timeout(SHORT)).await)), Phase::Entering);
    assert_eq!(phase_at("/free", failed(soon(other.try_lock()).await)), Phase::Entering);
    assert_eq!(phase(failed(soon(mutex.lock_timeout(SHORT)).await)), Phase::Queued);
    assert!(soon(mutex.try_lock()).await.unwrap().is_none(), "its own client holds it");
    assert_eq!(phase(failed(soon(mutex.participants()).await)), Phase::Requesting);
    assert_eq!(phase(failed(soon(guard.verify()).await)), Phase::Requesting);
    let written = failed(soon(guard.set_data("/x", "")).await);
    assert!(matches!(&written, LockError::OutcomeUnknown { path, .. } if path == "/x"), "{written}");
    assert_eq!(phase(failed(soon(guard.release()).await)), Phase::Releasing);
    // The downgrade gets no answer.
    drop(writer);
    for error in [failed(soon(several.release()).await), failed(soon(reader.release()).await)] {
        assert!(matches!(error, LockError::Timeout { phase: Phase::Releasing, .. }), "{error}");
    }
    soon(client.shutdown(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_lock_is_entered_again_during_an_outage_without_waiting_for_the_servers() {
    let server = Server::start_granting(PATIENCE);
    let client = server.client(PATIENCE).await;
    let guard = lock(&client, PATH).await;
    server.kill().unwrap();
    until_state(&guard, LeaseState::Suspended).await;
    let mutex = client.mutex(PATH).unwrap();
    let again = guard.scope(mutex.lock()).await.unwrap();
    assert!(!again.is_held(), "it is as suspended as the hold around it");
    server.restart().unwrap();
    soon(again.verify()).await.unwrap();
    until_state(&again, LeaseState::Held).await;
}

#[tokio::test]
async fn a_lock_outlives_its_lease_although_the_runtime_of_its_holder_is_blocked() {
    let server = Server::start_quick();
    let client = server.quick_config().connect().await.unwrap();
    let guard = lock(&client, PATH).await;
    // The only thread of this runtime is blocked meanwhile.
    std::thread::sleep(QUICK_SESSION);
    until_state(&guard, LeaseState::Held).await;
    guard.verify().await.unwrap();
}

/// The fast tests have fewer sessions.
#[cfg(soak)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_sessions_are_back_after_an_outage() {
    let server = Server::start_granting(PATIENCE * 3);
    let proxy = Proxy::start(server.address()).unwrap();
    let config = Config::new(proxy.connect_string()).session_timeout(PATIENCE * 3);
    let mut clients = Vec::new();
    for _ in 0..1_000 {
        clients.push(config.clone().connect().await.unwrap());
    }
    let are = |health: Health| clients.iter().all(|client| client.health() == health);
    proxy.refuse();
    proxy.cut(How::Rst);
    until(|| async { are(Health::Suspended) }, "all sessions are cut off").await;
    sleep(Duration::from_secs(4)).await;
    proxy.heal();
    until(|| async { are(Health::Connected) }, "all sessions are back").await;
}

#[tokio::test]
async fn a_server_that_is_back_finds_no_contender_of_a_call_that_gave_up() {
    let server = Server::start_granting(PATIENCE);
    let client = server.client(PATIENCE).await;
    lock(&client, PATH).await.release().await.unwrap();
    let mutex = client.mutex(PATH).unwrap();
    server.kill().unwrap();
    until(|| async { client.health() == Health::Suspended }, "the client noticed").await;
    for millis in [1, 10, 100] {
        assert!(failed(mutex.lock_timeout(Duration::from_millis(millis)).await).is_timeout());
    }
    server.restart().unwrap();
    until(|| async { client.health() == Health::Connected }, "the client is connected again").await;
    until(|| async { mutex.participants().await.unwrap().is_empty() }, "no contender is left").await;
}

/// A server that grants less than the one before it ends the session so much earlier, and the client knows.
#[tokio::test]
async fn a_lock_whose_session_is_shortened_at_a_reconnect_is_lost_so_much_earlier() {
    const SHORT: Duration = Duration::from_secs(4);
    let server = Server::start_granting(PATIENCE);
    let proxy = Proxy::start(server.address()).unwrap();
    let client = Config::new(proxy.connect_string())
        .session_timeout(PATIENCE)
        .tick_time(TICK)
        .connect()
        .await
        .unwrap();
    let guard = lock(&client, PATH).await;
    proxy.on_reply(Opcode::CREATE_SESSION).rewrite(|reply| {
        // Behind the version of the protocol.
        let millis = i32::try_from(SHORT.as_millis()).unwrap();
        [&reply[..4], &millis.to_be_bytes(), &reply[8..]].concat()
    });
    proxy.refuse();
    proxy.cut(How::Rst);
    until_state(&guard, LeaseState::Suspended).await;
    proxy.heal();
    until_state(&guard, LeaseState::Held).await;
    let last = Instant::now();
    proxy.blackhole(Direction::Both);
    assert_eq!(soon(guard.lost()).await, LossReason::LeaseExpired);
    assert!(last.elapsed() < SHORT, "{:?}", last.elapsed());
}

#[tokio::test]
async fn a_client_connects_when_its_server_starts_and_is_suspended_disconnected_and_ready_again_with_it() {
    let server = Server::start_quick();
    server.kill().unwrap();
    let connecting = tokio::spawn(server.quick_config().connect_timeout(Duration::MAX).connect());
    server.restart().unwrap();
    let client = soon(connecting).await.unwrap().unwrap();
    assert_eq!(client.readiness(), Readiness::Ready);
    server.kill().unwrap();
    until(async || client.readiness() == Readiness::Suspended, "the client is suspended").await;
    let is_disconnected = || matches!(client.readiness(), Readiness::Disconnected { .. });
    until(async || is_disconnected(), "the client is disconnected").await;
    until(async || client.readiness().to_string().contains("refuses connections"), "it has the reason").await;
    server.restart().unwrap();
    until(async || client.readiness() == Readiness::Ready, "the client is ready again").await;
}

/// Holds a lock while the first of several addresses that the client uses, and more of them, fall silent.
async fn hold_while_silent((proxies, config): (Vec<Proxy>, Config), silent: usize) {
    let client = config.connect().await.unwrap();
    let guard = lock(&client, PATH).await;
    let session = client.session_id().unwrap();
    let is_served = |proxy: &&Proxy| proxy.sessions().contains(&session);
    let (in_use, others): (Vec<_>, Vec<_>) = proxies.iter().partition(is_served);
    assert_eq!(in_use.len(), 1);
    let (more, others) = others.split_at(silent - 1);
    let silent = || in_use.iter().chain(more);
    silent().for_each(|proxy| proxy.blackhole(Direction::Both));
    until(|| async { others.iter().any(is_served) }, "another server serves the client").await;
    until(|| async { guard.state() != LeaseState::Suspended }, "the lock is confirmed or lost").await;
    assert_eq!(guard.state(), LeaseState::Held);
    silent().for_each(|proxy| proxy.heal());
    guard.verify().await.unwrap();
}

#[tokio::test]
async fn a_lock_outlives_the_silence_of_two_of_five_servers_with_a_short_session() {
    let server = Server::start();
    let (proxies, config) = addresses(&server, 5);
    let config = config.session_timeout(Duration::from_secs(10)).tick_time(TICK);
    hold_while_silent((proxies, config), 2).await;
}

#[tokio::test]
async fn a_lease_that_reads_prove_outlives_the_silence_of_its_server() {
    let server = Server::start_granting(Duration::from_secs(30));
    let (proxies, config) = addresses(&server, 3);
    // Reads prove a lease for 11.2 s, which the default of 2.5 s would use up if the silent server is tried twice.
    let config = config.server_timeout(Duration::from_secs(1)).heartbeat(Heartbeat::Read);
    hold_while_silent((proxies, config), 1).await;
}

#[tokio::test]
async fn a_slow_server_keeps_its_connections_and_locks() {
    let server = Server::start_granting(Duration::from_secs(30));
    let (proxies, config) = addresses(&server, 1);
    let client = config.connect().await.unwrap();
    let guard = lock(&client, PATH).await;
    let connections = proxies[0].connections();
    // The client gives a server up after 2.5 s.
    proxies[0].delay(Direction::Both, Duration::from_millis(300));
    guard.verify().await.unwrap();
    guard.verify().await.unwrap();
    proxies[0].heal();
    assert_eq!((client.health(), guard.state()), (Health::Connected, LeaseState::Held));
    assert_eq!(proxies[0].connections(), connections, "the connection was kept");
}
