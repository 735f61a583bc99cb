//! Servers whose lists lack a node that exists (ZOOKEEPER-4846).

use zklock::{Config, LeaseState, LossReason};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{EmbeddedServer, Proxy};
use zookeeper_client as zk;

use crate::support::{Space, failed, soon, spawn_lock, until};

const PATH: &str = "/orders/7";

/// Makes each list of children empty.
fn hide_children(proxy: &Proxy) {
    // The header has the number of the request, the zxid and the error.
    const HEADER: usize = 16;
    let lists = proxy.on_success(Opcode::GET_CHILDREN).always();
    drop(lists.rewrite(|answer| [&answer[..HEADER], &0_i32.to_be_bytes()].concat()));
}

#[tokio::test]
async fn a_holder_that_its_first_list_lacks_has_lost_the_lock_and_leaves_no_node() {
    let (space, proxy, client) = Space::with_proxy().await;
    hide_children(&proxy);
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
    assert!(failed(guard.release().await).is_lost());
    space.until_empty(PATH).await;
}

#[tokio::test]
async fn a_contender_that_its_list_lacks_deletes_its_node_and_enters_again() {
    let (space, proxy, client) = Space::with_proxy().await;
    space.client().await.mutex(PATH).unwrap().lock().await.unwrap().release().await.unwrap();
    hide_children(&proxy);
    let locking = spawn_lock(&client, PATH);
    until(async || proxy.requests(Opcode::CREATE2) > 1, "it enters again").await;
    assert!(!locking.is_finished());
    proxy.clear();
    let guard = soon(locking).await.unwrap();
    assert_eq!(space.children(PATH).await.len(), 1);
    guard.verify().await.unwrap();
}

#[derive(PartialEq)]
enum DeleteQueue {
    Yes,
    No,
}

#[tokio::test]
async fn a_holder_whose_node_the_server_has_forgotten_to_list_is_told_after_the_next_reconnect() {
    check_reconnect(DeleteQueue::No).await;
}

#[tokio::test]
async fn a_holder_whose_queue_the_server_has_deleted_as_empty_is_told_after_the_next_reconnect() {
    check_reconnect(DeleteQueue::Yes).await;
}

async fn check_reconnect(delete_queue: DeleteQueue) {
    let server = EmbeddedServer::start().unwrap();
    let client = Config::new(server.connect_string()).connect().await.unwrap();
    let [kept, forgotten] = ["/kept", "/forgotten"].map(|path| client.mutex(path).unwrap());
    let (kept, lost) = (kept.lock().await.unwrap(), forgotten.lock().await.unwrap());
    let own = forgotten.participants().await.unwrap().remove(0).node;
    let outsider = zk::Client::connect(server.connect_string()).await.unwrap();
    server.unlist(&format!("/forgotten/{own}")).unwrap();
    if delete_queue == DeleteQueue::Yes {
        outsider.delete("/forgotten", None).await.unwrap();
    }
    server.disconnect(client.session_id().unwrap());
    assert_eq!(soon(lost.lost()).await, LossReason::NodeDeleted);
    until(async || kept.state() == LeaseState::Held, "the other lock is held again").await;
}

#[tokio::test]
async fn a_holder_that_was_behind_one_alone_lists_the_queue_on_the_next_connection() {
    let server = EmbeddedServer::start().unwrap();
    let proxy = Proxy::start(server.address()).unwrap();
    let first = Config::new(server.connect_string()).connect().await.unwrap();
    let next = Config::new(proxy.connect_string()).connect().await.unwrap();
    let held = first.mutex(PATH).unwrap().lock().await.unwrap();
    let waiting = spawn_lock(&next, PATH);
    until(async || proxy.replies(Opcode::GET_DATA) >= 2, "it watches the node in front and its own one")
        .await;
    let session = next.session_id().unwrap();
    server.disconnect(session);
    until(async || proxy.replies(Opcode::GET_DATA) >= 4, "it watches both on the next connection").await;
    let lists = proxy.requests(Opcode::GET_CHILDREN);
    held.release().await.unwrap();
    let guard = soon(waiting).await.unwrap();
    assert_eq!(proxy.requests(Opcode::GET_CHILDREN), lists, "the end of the node in front is its turn");
    let own = next.mutex(PATH).unwrap().participants().await.unwrap().remove(0).node;
    server.unlist(&format!("{PATH}/{own}")).unwrap();
    server.disconnect(session);
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
}
