//! Notices that an own node is gone, although nobody of ours deleted it.

use std::time::Duration;

use tokio::time::sleep;

use super::Session;
use super::drive::Driver;
use super::fault::Fault;
use super::notice::Subject;

impl Driver {
    /// Resolves when the own node, at this path, is gone; never if that cannot be known.
    ///
    /// The children were listed with a watch, which costs no request and fires when the own node goes.
    /// When it fires for another reason, a watch on the own node takes over, unless the lock is released
    /// in the next moment, as most are that others wait for.
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

/// Resolves when the node is gone; never if the server does not let us know.
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

/// How long a holder puts off the request for a watch of its own.
const MOMENT: Duration = Duration::from_millis(5);
/// Between attempts to set a watch.
const PAUSE: Duration = Duration::from_secs(1);
