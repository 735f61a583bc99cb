//! Contenders whose requests fail or have an unknown outcome, whose session is replaced, and whose node a list lacks
//! (ZOOKEEPER-4846).

use std::ops::Range;
use std::time::{Duration, Instant};

use zklock::{Client, Config, Health, LeaseState, LockError, LossReason};
use zklock_testkit::wire::{ConnectResponse, ErrorCode, Opcode, Record};
use zklock_testkit::{EmbeddedServer, How, Proxy, Rule};
use zookeeper_client as zk;

use crate::support::{Space, failed, lock, persistent, soon, spawn_lock, until};

const PATH: &str = "/recovery";

fn refused(reply: &[u8], error: ErrorCode) -> Vec<u8> {
    /// The length of the xid and the zxid, which stay.
    const BEFORE_ERROR: usize = 4 + 8;
    [&reply[..BEFORE_ERROR], &error.0.to_be_bytes()].concat()
}

#[tokio::test]
async fn a_withdrawal_is_retried_more_slowly_each_time_until_it_is_done() {
    let (space, proxy, client) = Space::with_proxy().await;
    let guard = lock(&client, PATH).await;
    let lost = proxy.on_request(Opcode::DELETE).always().cut(How::Fin);
    drop(guard);
    soon(lost.struck()).await;
    let first = Instant::now();
    soon(lost.struck_times(7)).await;
    // The pauses double from 10 ms on. Without them, the requests would follow each other at once.
    assert!(first.elapsed() >= Duration::from_millis(10 * (1 + 2 + 4 + 8 + 16 + 32)) / 2);
    proxy.clear();
    space.until_empty(PATH).await;
    soon(lock(&client, PATH)).await.release().await.unwrap();
}

#[tokio::test]
async fn the_first_refusal_is_told_and_not_that_of_the_withdrawal() {
    let (proxy, client) = Space::new().proxied().await;
    lock(&client, PATH).await.release().await.unwrap();
    let first = proxy.on_reply(Opcode::GET_CHILDREN).times(2).rewrite(|r| refused(r, ErrorCode::NO_AUTH));
    let second = proxy.on_reply(Opcode::DELETE).rewrite(|r| refused(r, ErrorCode::NOT_EMPTY));
    let error = failed(client.mutex(PATH).unwrap().lock().await);
    assert!(matches!(&error, LockError::Denied { path, .. } if path == PATH), "{error}");
    assert_eq!((first.hits(), second.hits()), (2, 1));
}

#[tokio::test]
async fn a_node_that_is_gone_before_it_is_withdrawn_is_no_failure() {
    let (space, proxy, client) = Space::with_proxy().await;
    let guard = lock(&client, PATH).await;
    let delete = proxy.on_request(Opcode::DELETE).hold();
    let releasing = tokio::spawn(guard.release());
    soon(delete.struck()).await;
    space.delete_children(PATH).await;
    delete.release();
    soon(releasing).await.unwrap().unwrap();
    assert_eq!(proxy.requests(Opcode::DELETE), 1, "a node that is gone is not deleted again");
    space.until_empty(PATH).await;
}

#[rstest::rstest]
#[tokio::test]
async fn a_contender_is_looked_for_after_the_server_caught_up_with_its_leader(
    #[values(false, true)] is_deleted: bool,
) {
    let (space, proxy, client) = Space::with_proxy().await;
    lock(&client, PATH).await.release().await.unwrap();
    let before = proxy.requests(Opcode::CREATE2);
    let catching_up = proxy.on_request(Opcode::MULTI).always().hold();
    let lost = proxy.on_reply(Opcode::CREATE2).cut(How::Fin);
    let locking = spawn_lock(&client, PATH);
    soon(catching_up.struck()).await;
    // A list that was sent behind the transaction waits with it.
    let lists = proxy.replies(Opcode::GET_CHILDREN);
    assert_eq!(space.children(PATH).await.len(), 1);
    assert!(!locking.is_finished());
    assert_eq!(proxy.replies(Opcode::GET_CHILDREN), lists);
    if is_deleted {
        space.delete_children(PATH).await;
    }
    catching_up.release();
    let guard = soon(locking).await.unwrap();
    // There is no second node, unless the first one is gone.
    let creates = proxy.requests(Opcode::CREATE2) - before;
    assert_eq!((lost.hits(), creates), (1, 1 + u64::from(is_deleted)));
    assert_eq!(space.children(PATH).await.len(), 1);
    guard.verify().await.unwrap();
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_node_that_a_server_creates_after_its_contender_has_left_is_deleted() {
    let (space, proxy, client) = Space::with_proxy().await;
    lock(&client, PATH).await.release().await.unwrap();
    proxy.on_request(Opcode::CREATE2).cut(How::Fin);
    let guard = lock(&client, PATH).await;
    let second = space.children(PATH).await.remove(0);
    guard.release().await.unwrap();
    let first = second.replace("1-lock-", "0-lock-");
    assert_ne!(first, second);
    // Twice, because the first look must not be the last one.
    for _ in 0..2 {
        let late = format!("{}/{first}", space.full(PATH));
        space.outsider().await.create(&late, b"", &persistent()).await.unwrap();
        space.until_empty(PATH).await;
    }
}

/// Makes the client believe that its session expired, while the server keeps it and its nodes.
pub(crate) async fn expire_for_the_client_alone(proxy: &Proxy, client: &Client) -> i64 {
    let session = client.session_id().expect("the client has a session");
    let told = proxy.on_reply(Opcode::CREATE_SESSION).rewrite(|reply| {
        let response = ConnectResponse::from_bytes(reply.to_vec().into()).expect("a connect response");
        let password = response.password.map(|password| vec![0; password.len()].into());
        ConnectResponse { timeout: 0, session_id: 0, password, ..response }.to_bytes().to_vec()
    });
    proxy.cut(How::Fin);
    soon(told.struck()).await;
    let is_new = || client.session_id().is_some_and(|id| id != session);
    until(|| async { is_new() && client.health() == Health::Connected }, "the next session is open").await;
    session
}

#[tokio::test]
async fn a_node_of_another_session_is_not_taken_for_the_own_one() {
    let (space, proxy, client) = Space::with_proxy().await;
    lock(&space.client().await, PATH).await.release().await.unwrap();
    let first = client.session_id().unwrap();
    // The rewritten reply makes the client believe that it was moved to another session.
    let rule = proxy.on_reply(Opcode::CREATE2).rewrite(|reply| {
        /// A stat ends with its owner, the data length, the number of children and a transaction id.
        const FROM_END: usize = 8 + 4 + 4 + 8;
        let mut reply = reply.to_vec();
        let owner = reply.len() - FROM_END;
        reply[owner..owner + 8].copy_from_slice(&7_i64.to_be_bytes());
        reply
    });
    let guard = soon(spawn_lock(&client, PATH)).await.unwrap();
    assert_eq!(rule.hits(), 1);
    assert_ne!(client.session_id().unwrap(), first);
    space.until_queued(PATH, 1).await;
    guard.verify().await.unwrap();
    guard.release().await.unwrap();
    space.until_empty(PATH).await;
}

/// Makes the next connection of the proxy open a new session instead of restoring one, as some servers that are not
/// Apache's do.
fn replace_the_next_session(proxy: &Proxy) -> Rule {
    // The frame has the protocol's version, the last transaction, the timeout, the session and its password.
    const SESSION: Range<usize> = 16..24;
    const PASSWORD: Range<usize> = 28..44;
    proxy.on_request(Opcode::CREATE_SESSION).rewrite(|frame| {
        let mut frame = frame.to_vec();
        frame[SESSION].fill(0);
        frame[PASSWORD].fill(0);
        frame
    })
}

#[tokio::test]
async fn a_holder_whose_session_is_replaced_is_told_at_the_reconnect() {
    let (space, proxy, client) = Space::with_proxy().await;
    let guard = lock(&client, PATH).await;
    let session = client.session_id();
    replace_the_next_session(&proxy);
    proxy.cut(How::Rst);
    assert_eq!(soon(guard.lost()).await, LossReason::SessionEnded);
    assert_eq!(space.children(PATH).await.len(), 1, "the old session goes on for its timeout");
    until(|| async { client.session_id().is_some_and(|id| Some(id) != session) }, "the next session is open")
        .await;
}

#[tokio::test]
async fn a_waiter_whose_session_is_replaced_does_not_hold_by_the_node_of_the_old_one() {
    let space = Space::new();
    let ((proxy, client), other) = (space.proxied().await, space.client().await);
    let holder = lock(&other, PATH).await;
    let waiting = spawn_lock(&client, PATH);
    space.until_queued(PATH, 2).await;
    let session = client.session_id();
    replace_the_next_session(&proxy);
    proxy.cut(How::Rst);
    holder.release().await.unwrap();
    let guard = soon(waiting).await.unwrap();
    let holder = &other.mutex(PATH).unwrap().participants().await.unwrap()[0];
    assert_ne!(Some(holder.session_id), session, "it holds by the node of the old session");
    assert_eq!(Some(holder.session_id), client.session_id());
    guard.verify().await.unwrap();
    guard.release().await.unwrap();
}

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

#[rstest::rstest]
#[tokio::test]
async fn a_holder_whose_node_the_server_has_forgotten_to_list_is_told_after_the_next_reconnect(
    #[values(false, true)] is_queue_deleted_as_empty: bool,
) {
    let server = EmbeddedServer::start().unwrap();
    let client = Config::new(server.connect_string()).connect().await.unwrap();
    let [kept, forgotten] = ["/kept", "/forgotten"].map(|path| client.mutex(path).unwrap());
    let (kept, lost) = (kept.lock().await.unwrap(), forgotten.lock().await.unwrap());
    let own = forgotten.participants().await.unwrap().remove(0).node;
    let outsider = zk::Client::connect(server.connect_string()).await.unwrap();
    server.unlist(&format!("/forgotten/{own}")).unwrap();
    if is_queue_deleted_as_empty {
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
