//! Servers that silently replace a session by a new one, as some that are not Apache's do.

use zklock::LossReason;
use zklock_testkit::wire::Opcode;
use zklock_testkit::{How, Proxy, Rule};

use crate::support::{Space, soon, spawn_lock, until};

const PATH: &str = "/orders";

/// Makes the next connection of the proxy open a new session instead of restoring one.
fn replace_the_next_session(proxy: &Proxy) -> Rule {
    // The frame has the protocol's version, the last transaction, the timeout, the session and its password.
    const SESSION: std::ops::Range<usize> = 16..24;
    const PASSWORD: std::ops::Range<usize> = 28..44;
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
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
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
    let holder = other.mutex(PATH).unwrap().lock().await.unwrap();
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
