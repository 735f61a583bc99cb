//! Detects that an own node is gone although this client did not delete it.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::Session;
use super::drive::Driver;
use super::fault::Fault;
use super::notice::{Change, OWN_INTERVAL, Subject, Watch};
use super::sentry::{MOMENT, Seen, Sentry};

impl Driver {
    /// Resolves when the own node, at this path, is gone. Never resolves if that cannot be known.
    ///
    /// A contender that waited long watches its own node already. For others, listing the children also set a
    /// watch, which takes no extra request and fires when the own node is deleted. If it fires for another
    /// reason, or if the contender knew without a list that it was first, a watch on the own node is set after
    /// a moment.
    pub(crate) fn own_node_gone(&mut self, path: Arc<str>) -> impl Future<Output = ()> + use<> {
        let (session, children, absence) = (self.session.clone(), self.children.take(), self.absence.take());
        let (sentry, queue) = (self.sentry().clone(), self.path().clone());
        async move {
            if let Some(absence) = absence {
                // Both are kept, because dropping a watch would cost a request to remove it.
                return join_first(absence, others(children, &sentry)).await;
            }
            let mut children = children;
            if children.is_none() && sentry.is_needed_within(MOMENT).await {
                children = look_around(&session, queue.full(), &path, &sentry).await;
            }
            if children.is_some() {
                others(children, &sentry).await;
                sentry.note_watch(false);
                sentry.rest(MOMENT).await;
            }
            gone(session, path, &sentry).await;
        }
    }
}

/// Waits until the children of the queue may have changed, and takes note that others may have come.
async fn others(children: Option<Watch>, sentry: &Sentry) {
    match children {
        Some(Watch::Pause(pause)) => sentry.rest(pause).await,
        Some(children @ Watch::Event(_)) => {
            children.changed().await;
            sentry.note_company();
        }
        None => {}
    }
}

/// Lists the queue of a holder that has not done so, because calls of its client wait behind it: the list tells
/// whether others wait too, and its watch stands for one on the own node.
async fn look_around(session: &Session, queue: &str, own: &str, sentry: &Sentry) -> Option<Watch> {
    let children = session.ops().list(queue).await.ok()?;
    let own = own.rsplit_once('/').map_or(own, |(_, name)| name);
    // Without the own node, a watch on it finds that it is gone.
    children.names.iter().find(|name| *name == own)?;
    sentry.begin(Seen::of(&children, own));
    Some(children.watch)
}

/// Awaits the first future, and meanwhile polls the second one.
async fn join_first(first: impl Future<Output = ()>, second: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        () = first => {}
        never = async { second.await; pending::<Infallible>().await } => match never {},
    }
}

/// Resolves when the node with this watch is gone.
pub(super) async fn gone_from(session: Arc<Session>, path: Arc<str>, mut watch: Watch, sentry: &Sentry) {
    sentry.note_watch(true);
    if watch.change().await == Change::Other {
        sentry.note_watch(false);
        gone(session, path, sentry).await;
    }
}

/// Resolves when the node is gone, and meanwhile takes note of its data. Never resolves if the server refuses the
/// watch or the session is over.
pub(super) async fn gone(session: Arc<Session>, path: Arc<str>, sentry: &Sentry) {
    loop {
        let fault = match session.ops().watch(Subject::Own, &path).await {
            Ok(Some(own)) => {
                sentry.note_data(&own.data);
                sentry.note_watch(true);
                own.watch.changed().await;
                sentry.note_watch(false);
                continue;
            }
            Ok(None) => match session.ops().exists(&path).await {
                Ok(true) => {
                    sentry.note_unwatchable();
                    sleep(OWN_INTERVAL).await;
                    continue;
                }
                Ok(false) => return,
                Err(fault) => fault,
            },
            Err(fault) => fault,
        };
        match fault {
            Fault::NoNode => return,
            Fault::Unknown(_) => sleep(PAUSE).await,
            Fault::Denied(_) | Fault::Refused(_) => {
                sentry.note_unwatchable();
                return pending().await;
            }
            Fault::SessionOver => return pending().await,
        }
    }
}

/// The pause between attempts to set a watch.
const PAUSE: Duration = Duration::from_secs(1);
