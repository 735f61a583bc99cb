//! Keeps the lease clock of a session running while leases depend on it.

use std::sync::Arc;
use std::time::Duration;

use super::Session;
use super::fault::Fault;

/// Sends a request whenever no other answer has moved the lease clock for the time of one heartbeat.
///
/// Without leases, no request is sent: the client library's own pings keep the session alive.
pub(super) async fn keep(session: Arc<Session>) {
    let mut leases = session.leases.subscribe();
    // The task holds the session and thereby the sender of `leases`, so the loop would never end
    // without `over`.
    let over = session.over.clone();
    let beats = async {
        while leases.wait_for(|leases| *leases > 0).await.is_ok() {
            // An answer that does not move the clock must not cause the next request at once.
            let least = session.clock().terms().heartbeat() / 4;
            tokio::time::sleep(until_due(&session).max(least)).await;
            if until_due(&session).is_zero() {
                beat(&session).await;
            }
        }
    };
    over.run_until_cancelled(beats).await;
}

/// Returns the time until an answer is needed: one that renews the lease, or any answer after a silence.
fn until_due(session: &Session) -> Duration {
    let (clock, terms) = (session.clock(), session.clock().terms());
    let fresh = terms.term(terms.heartbeat_kind()).saturating_sub(terms.heartbeat());
    let lease = clock.remaining().saturating_sub(fresh);
    lease.min(terms.heartbeat().saturating_sub(clock.silence()))
}

async fn beat(session: &Session) {
    let terms = session.clock().terms();
    match session.ops().heartbeat(terms.heartbeat_kind()).await {
        Ok(()) => {}
        // The client library has ended its own task, perhaps by a panic, which it does not report.
        Err(Fault::SessionOver) => session.give_up(),
        Err(fault) => tracing::debug!(?fault, "heartbeat failed"),
    }
}
