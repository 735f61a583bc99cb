//! Publishes the state of a session's connection.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use zookeeper_client as zk;

use super::clock::Ack;
use super::fault::Fault;
use super::{CLOSE_WITHIN, Health, Session};

/// Publishes the state of the connection until the session ends.
pub(super) async fn follow(session: Arc<Session>, mut states: zk::StateWatcher) {
    let _closed = session.closed.clone().drop_guard();
    let mut state = states.state();
    while !state.is_terminated() && !session.is_over() {
        state = tokio::select! {
            biased;
            () = session.over() => break,
            state = states.changed() => state,
            never = publish(&session, state) => match never {},
        };
        session.link.change(|link| {
            link.epoch += 1;
            true
        });
        if !state.is_terminated() {
            // The new state may equal the old one: there was another one in between.
            session.tell_health(Health::Suspended);
        }
    }
    // A library whose own task has panicked never tells the end. Closing waits for bodies first, and then for the servers.
    let ended = async {
        while !state.is_terminated() {
            state = states.changed().await;
        }
    };
    timeout(CLOSE_WITHIN * 2, ended).await.ok();
    tracing::info!(%state, "session ended");
    session.tell_lost();
}

/// Publishes the health that corresponds to a state of the client library.
///
/// The library reports a session as connected as soon as a server has accepted it again. If that connection
/// breaks before the first ping is answered, the library continues to report it as connected while it looks
/// for another server. A restored connection is therefore `Connected` only after it has answered a request.
async fn publish(session: &Session, state: zk::SessionState) -> Infallible {
    if state != zk::SessionState::SyncConnected {
        session.tell_health(Health::Suspended);
    } else if session.link().health == Health::Suspended {
        until_answered(session).await;
        session.tell_health(Health::Connected);
    }
    pending().await
}

async fn until_answered(session: &Session) {
    loop {
        // Without leases, there is nothing that a write would prove.
        let is_attended = session.is_attended();
        let kind = if is_attended { session.clock().terms().heartbeat_kind() } else { Ack::Read };
        match session.ops().heartbeat(kind).await {
            Err(Fault::Unknown(_)) => sleep(PAUSE).await,
            Err(Fault::SessionOver) => {
                session.give_up();
                pending().await
            }
            Ok(()) | Err(Fault::NoNode | Fault::Denied(_) | Fault::Refused(_)) => return,
        }
    }
}

/// The pause between requests to a connection that has not answered any.
const PAUSE: Duration = Duration::from_millis(100);
