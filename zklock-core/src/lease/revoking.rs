//! Watches the data of a holder's node for a request to release.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::session::fault::Fault;

use super::tenure::Tenure;

/// Watches the node's data until it asks for the release, or the lease has ended.
pub(crate) async fn watch(tenure: Arc<Tenure>) {
    tokio::select! {
        biased;
        () = tenure.revocation.ended() => {}
        _ = tenure.lost() => {}
        () = look(&tenure) => {}
    }
}

async fn look(tenure: &Tenure) {
    // A release fires the watch by deleting the node. Dropping it earlier would cost a request to remove it.
    while !tenure.revocation.is_closed() {
        let node = tenure.node().await;
        match tenure.session.ops().read_and_watch(&node).await {
            Ok(read) => {
                tenure.sentry.note_data(&read.data);
                if tenure.revocation.is_asked() {
                    return;
                }
                read.watch.changed().await;
            }
            // Another node may have replaced this one. Otherwise the lease ends.
            Err(Fault::NoNode | Fault::Unknown(_)) => sleep(PAUSE).await,
            Err(_) => return,
        }
    }
}

/// The pause between attempts to read the node's data.
const PAUSE: Duration = Duration::from_millis(200);
