//! Sessions whose connections break again and again, at servers that replicate.

use tokio::task::JoinSet;
use zklock::{Client, Config, LeaseState};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Ensemble, How, Proxy};

use crate::support::{soon, spawn_lock, until};

const RECONNECTS: u64 = if cfg!(soak) { 1_000 } else { 30 };
/// The requests that are under way when the connection breaks.
const REQUESTS: usize = 50;

/// Asks many questions at once, each of which is repeated until it is answered.
fn ask(client: &Client) -> JoinSet<()> {
    let mut asking = JoinSet::new();
    for _ in 0..REQUESTS {
        let mutex = client.mutex("/held").unwrap();
        asking.spawn(async move { assert_eq!(mutex.participants().await.unwrap().len(), 1) });
    }
    asking
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_and_its_locks_are_kept_over_many_connections() {
    let ensemble = Ensemble::start().unwrap();
    let proxies = [0, 1, 2].map(|index| Proxy::start(ensemble.server(index).address()).unwrap());
    let servers = proxies.each_ref().map(Proxy::connect_string).join(",");
    let client = Config::new(&servers).connect().await.unwrap();
    let other = Config::new(ensemble.connect_string()).connect().await.unwrap();
    let (held, session) = (client.mutex("/held").unwrap().lock().await.unwrap(), client.session_id());
    let front = other.mutex("/waited").unwrap().lock().await.unwrap();
    let mut waiting = spawn_lock(&client, "/waited");
    let sum = |opcode| proxies.iter().map(|proxy| proxy.requests(opcode)).sum::<u64>();
    for number in 1..=RECONNECTS {
        let asking = ask(&client);
        tokio::task::yield_now().await;
        proxies.iter().for_each(|proxy| proxy.cut(How::Rst));
        soon(asking.join_all()).await;
        let is_back = async || sum(Opcode::CREATE_SESSION) > number && held.state() == LeaseState::Held;
        until(is_back, "the lock is held on the next connection").await;
    }
    assert_eq!(client.session_id(), session);
    assert_eq!(sum(Opcode::CLOSE_SESSION), 0);
    // A connection that breaks before its first answer is followed by another one. The test opens no other ones.
    assert!((RECONNECTS + 1..RECONNECTS * 2).contains(&sum(Opcode::CREATE_SESSION)));
    assert!(!waiting.is_finished());
    front.release().await.unwrap();
    soon(&mut waiting).await.unwrap().release().await.unwrap();
    held.release().await.unwrap();
}
