//! The wake-ups of waiters, and the watches that they leave on the server.

use tokio::task::JoinHandle;
use zklock::{Client, MutexGuard};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{How, Proxy};

use crate::support::{Space, lock, soon, spawn_lock, until};

const PATH: &str = "/bells";

async fn queue(client: &Client) -> Vec<String> {
    let participants = client.mutex(PATH).unwrap().participants().await.unwrap();
    participants.into_iter().map(|participant| format!("{PATH}/{}", participant.node)).collect()
}

/// Adds the contenders of clients to the queue one behind the other, each of which watches the one in front.
async fn line_up(space: &Space, clients: &[Client]) -> Vec<JoinHandle<MutexGuard>> {
    let mut waiting = Vec::new();
    for (place, client) in clients.iter().enumerate() {
        waiting.push(spawn_lock(client, PATH));
        let waits = async || {
            let nodes = queue(client).await;
            nodes.len() > place + 1 && space.is_watched(&nodes[place])
        };
        until(waits, "the next one waits").await;
    }
    waiting
}

#[tokio::test]
async fn a_waiter_whose_node_went_before_the_one_in_front_while_it_was_cut_off_never_holds_by_it() {
    let (space, proxy, client) = Space::with_proxy().await;
    let (other, outsider) = (space.client().await, space.outsider().await);
    let holder = lock(&other, PATH).await;
    let waiting = spawn_lock(&client, PATH);
    until(|| async { proxy.replies(Opcode::GET_DATA) == 2 }, "the waiter watches both").await;
    let own = space.full(&queue(&other).await[1]);
    proxy.refuse();
    proxy.cut(How::Rst);
    outsider.delete(&own, None).await.unwrap();
    holder.release().await.unwrap();
    proxy.heal();
    let guard = soon(waiting).await.unwrap();
    guard.verify().await.unwrap();
    let nodes = queue(&other).await;
    assert!(nodes.len() == 1 && space.full(&nodes[0]) != own, "{nodes:?}");
    guard.release().await.unwrap();
}

#[tokio::test]
async fn only_the_one_behind_asks_again_when_a_contender_leaves() {
    const WAITERS: usize = 12;
    let space = Space::new();
    let proxy = Proxy::start(space.server().address()).unwrap();
    let mut clients = Vec::new();
    for _ in 0..WAITERS {
        clients.push(space.config_at(proxy.connect_string()).connect().await.unwrap());
    }
    let holder = lock(&space.client().await, PATH).await;
    let mut waiting = line_up(&space, &clients).await;
    let lists = || proxy.requests(Opcode::GET_CHILDREN);
    let (nodes, before) = (queue(&space.client().await).await, lists());

    // A waiter in the middle gives up: the one behind it now watches the one in front of it.
    waiting.remove(4).abort();
    let node = &nodes[5];
    until(|| async { !space.children(PATH).await.iter().any(|child| node.ends_with(child)) }, "it is gone")
        .await;
    until(|| async { lists() > before && space.is_watched(&nodes[4]) }, "the one behind watches").await;
    assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "a waiter acquired a lock that is held");
    holder.release().await.unwrap();
    for waiting in waiting {
        soon(waiting).await.unwrap().release().await.unwrap();
    }
    // The first waiter has one contender in front, and needs no list.
    let left_in_front_of_others = WAITERS as u64 - 1;
    assert_eq!(lists() - before, left_in_front_of_others);
}

#[tokio::test]
async fn an_event_that_is_no_deletion_grants_nothing() {
    let (space, proxy, client) = Space::with_proxy().await;
    let (other, outsider) = (space.client().await, space.outsider().await);
    let holder = lock(&other, PATH).await;
    let waiting = line_up(&space, std::slice::from_ref(&client)).await.remove(0);
    let predecessor = space.full(&queue(&other).await[0]);
    for _ in 0..5 {
        let asked = proxy.requests(Opcode::GET_CHILDREN);
        let looks_again = || async {
            // Repeated, because the waiter may not watch yet when the data changes.
            outsider.set_data(&predecessor, b"changed", None).await.unwrap();
            proxy.requests(Opcode::GET_CHILDREN) > asked
        };
        until(looks_again, "the waiter looks again").await;
    }
    assert!(holder.is_held() && !waiting.is_finished());
    assert!(other.mutex(PATH).unwrap().try_lock().await.unwrap().is_none());
}
