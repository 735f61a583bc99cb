//! Keeps the lease clock of a session running, and tells when it has run out.

use std::sync::Arc;
use std::time::Duration;

use crate::time::sleep;

use super::Session;
use super::clock::Ack;
use super::request_error::RequestError;

/// Sends a request whenever no other answer has moved the lease clock for the time of one heartbeat.
///
/// Without leases it is a read, by which the clock knows a contact of which the leader has been told. A lock that is taken
/// after a pause of the process counts from that.
pub(super) async fn keep(session: Arc<Session>) {
    let mut leases = session.leases.subscribe();
    // The task holds the session and thereby the sender of `leases`, so the loop would never end
    // without `over`.
    let over = session.over.clone();
    let beats = async {
        loop {
            // An answer that does not move the clock must not cause the next request at once.
            let least = session.clock().terms().heartbeat() / 4;
            let is_idle = *leases.borrow_and_update() == 0;
            tokio::select! {
                () = sleep(until_due(&session).max(least)) => {}
                _ = leases.wait_for(|leases| *leases > 0), if is_idle => continue,
            }
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
    let silence = terms.heartbeat().saturating_sub(clock.silence());
    if !session.is_attended() {
        return silence;
    }
    let fresh = terms.term(terms.heartbeat_kind()).saturating_sub(terms.heartbeat());
    clock.remaining().saturating_sub(fresh).min(silence)
}

async fn beat(session: &Session) {
    let kind = if session.is_attended() { session.clock().terms().heartbeat_kind() } else { Ack::Read };
    match session.requests().heartbeat(kind).await {
        Ok(()) | Err(RequestError::SessionOver) => {}
        Err(error) => tracing::debug!(?error, "heartbeat failed"),
    }
}

/// Tells the leases when the lease clock has run out.
pub(crate) async fn watch(session: Arc<Session>) {
    let (mut leases, over) = (session.leases.subscribe(), session.over.clone());
    let looks = async {
        loop {
            leases.wait_for(|leases| *leases > 0).await.ok();
            let remaining = session.clock().remaining();
            if remaining.is_zero() {
                session.lapse.notify();
            }
            // The timer stands still while the machine is suspended, and the lease clock does not.
            let pause = if remaining.is_zero() { LOOK } else { remaining.min(LOOK) };
            sleep(pause).await;
        }
    };
    over.run_until_cancelled(looks).await;
}

/// The longest time after which the lease clock is looked at again.
const LOOK: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use futures_util::future::FutureExt;

    use crate::time::timeout;

    use super::*;

    #[tokio::test]
    async fn leases_learn_soon_that_the_clock_ran_out_while_the_machine_was_suspended() {
        let session = Session::staged(1);
        let _lease = session.attend();
        tokio::spawn(watch(session.clone()));
        let mut lapsed = Box::pin(session.lapsed());
        assert!(lapsed.as_mut().now_or_never().is_none());
        tokio::task::yield_now().await;
        // The lease clock goes on during a suspension, and the timers do not.
        session.clock().run_out();
        timeout(LOOK * 10, lapsed).await.unwrap();
    }
}
