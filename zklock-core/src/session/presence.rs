//! Detects that an own node is gone although this client did not delete it.

use std::time::Duration;

use tokio::time::sleep;

use super::Session;
use super::drive::Driver;
use super::fault::Fault;
use super::notice::Subject;

impl Driver {
    /// Resolves when the own node, at this path, is gone. Never resolves if that cannot be known.
    ///
    /// Listing the children also set a watch, which takes no extra request and fires when the own node is
    /// deleted. If it fires for another reason, a watch on the own node replaces it after [`MOMENT`].
    /// Most locks that others wait for are released within that time, and the second watch is not needed.
    pub(crate) fn own_node_gone(&mut self, path: String) -> impl Future<Output = ()> + use<> {
        let (session, children) = (self.session.clone(), self.children.take());
        async move {
            if let Some(children) = children {
                children.changed().await;
                sleep(MOMENT).await;
            }
            gone(&session, &path).await;
        }
    }
}

/// Resolves when the node is gone. Never resolves if the server refuses the watch or the session is over.
pub(super) async fn gone(session: &Session, path: &str) {
    loop {
        match session.ops().watch(Subject::Own, path).await {
            Ok(watch) => watch.changed().await,
            Err(Fault::NoNode) => return,
            Err(Fault::Unknown(_)) => sleep(PAUSE).await,
            Err(_) => std::future::pending().await,
        }
    }
}

/// The delay before a holder requests a watch on its own node.
const MOMENT: Duration = Duration::from_millis(5);
/// The pause between attempts to set a watch.
const PAUSE: Duration = Duration::from_secs(1);
