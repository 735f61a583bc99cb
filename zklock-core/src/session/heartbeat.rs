//! Keeps the lease clock of a session running while leases depend on it.

use std::sync::Arc;
use std::time::Duration;

use super::Session;

/// Sends a request whenever nothing else has moved the clock for a heartbeat's time.
///
/// Without leases nothing is sent; the client library's own pings keep the session alive.
pub(super) async fn keep(session: Arc<Session>) {
    let mut leases = session.leases.subscribe();
    // The session ends this task; it would otherwise keep itself alive through its own handle.
    let over = session.over.clone();
    let beats = async {
        while leases.wait_for(|leases| *leases > 0).await.is_ok() {
            let pause = until_due(&session);
            if pause.is_zero() {
                beat(&session).await;
            } else {
                tokio::time::sleep(pause).await;
            }
        }
    };
    over.run_until_cancelled(beats).await;
}

/// How long to wait until an answer is needed that renews the lease.
fn until_due(session: &Session) -> Duration {
    let terms = session.clock().terms();
    let fresh = terms.term(terms.heartbeat_kind()).saturating_sub(terms.heartbeat());
    session.clock().remaining().saturating_sub(fresh)
}

async fn beat(session: &Session) {
    let terms = session.clock().terms();
    if let Err(fault) = session.ops().heartbeat(terms.heartbeat_kind()).await {
        tracing::debug!(?fault, "heartbeat failed");
        // A request fails at once where the library has lost the session for good.
        tokio::time::sleep(terms.heartbeat() / 4).await;
    }
}
