//! Detects that an own node is gone although this client did not delete it.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::Session;
use super::charge::Absence;
use super::drive::Driver;
use super::fault::Fault;
use super::notice::{Change, OWN_INTERVAL, Subject, Watch};
use super::sentry::{MOMENT, Seen, Sentry};

impl Driver {
    /// Resolves when the own node, at this path, is gone, or cannot be watched. Never resolves once the session is
    /// over.
    ///
    /// A contender that waited long watches its own node already. For others, listing the children also set a
    /// watch, which takes no extra request and fires when the own node is deleted. If it fires for another
    /// reason, or if the contender knew without a list that it was first, a watch on the own node is set. The ward
    /// begins after a moment, in which most locks are released, or when calls wait behind the node.
    pub(crate) fn own_node_gone(&mut self, path: Arc<str>) -> impl Future<Output = Absence> + use<> {
        let (session, children, absence) = (self.session.clone(), self.children.take(), self.absence.take());
        let (sentry, queue) = (self.sentry().clone(), self.path().clone());
        async move {
            if let Some(absence) = absence {
                // Both are kept, because dropping a watch would cost a request to remove it.
                return join_first(absence, others(children, &sentry)).await;
            }
            let mut children = children;
            if children.is_none() && sentry.is_urged() {
                children = look_around(&session, queue.full(), &path, &sentry).await;
            }
            let Some(Watch::Event(_)) = children else { return gone(session, path, &sentry).await };
            others(children, &sentry).await;
            sentry.note_watch(false);
            sentry.rest(MOMENT).await;
            gone_since(Sign::Changed, (session, path), &sentry).await
        }
    }
}

/// Waits until the children of the queue may have changed, and takes note that others may have come.
async fn others(children: Option<Watch>, sentry: &Sentry) {
    if let Some(children @ Watch::Event(_)) = children {
        children.changed().await;
        sentry.note_company();
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
async fn join_first<T>(first: impl Future<Output = T>, second: impl Future<Output = ()>) -> T {
    tokio::select! {
        biased;
        first = first => first,
        never = async { second.await; pending::<Infallible>().await } => match never {},
    }
}

/// Resolves when the node with this watch is gone, or cannot be watched any longer.
pub(super) async fn gone_from(
    session: Arc<Session>,
    path: Arc<str>,
    mut watch: Watch,
    sentry: &Sentry,
) -> Absence {
    sentry.note_watch(true);
    if watch.change().await == Change::Deleted {
        return Absence::Gone;
    }
    sentry.note_watch(false);
    gone_since(Sign::Changed, (session, path), sentry).await
}

/// The last sign of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// It was there.
    Seen,
    /// A watch fired, perhaps because it is gone.
    Changed,
}

/// Resolves when the node is gone, or cannot be watched, and meanwhile takes note of its data. Never resolves once the
/// session is over.
pub(super) async fn gone(session: Arc<Session>, path: Arc<str>, sentry: &Sentry) -> Absence {
    gone_since(Sign::Seen, (session, path), sentry).await
}

async fn gone_since(mut sign: Sign, (session, path): (Arc<Session>, Arc<str>), sentry: &Sentry) -> Absence {
    loop {
        match session.ops().watch(Subject::Own, &path).await {
            Ok(Some(own)) => {
                sentry.note_data(&own.data);
                sentry.note_watch(true);
                own.watch.changed().await;
                sentry.note_watch(false);
                sign = Sign::Changed;
            }
            Ok(None) if sign == Sign::Changed => match session.ops().exists(&path).await {
                Ok(false) => return Absence::Gone,
                Ok(true) | Err(_) => sign = Sign::Seen,
            },
            Ok(None) => {
                sentry.note_unwatchable();
                return Absence::NoRoom;
            }
            Err(Fault::NoNode) => return Absence::Gone,
            Err(Fault::Unknown(_)) => sleep(PAUSE).await,
            Err(Fault::Denied(_) | Fault::Refused(_)) => {
                sentry.note_unwatchable();
                return Absence::Refused;
            }
            Err(Fault::SessionOver) => return pending().await,
        }
    }
}

/// Resolves when a node that cannot be watched is gone.
pub(super) async fn gone_unwatched(session: &Session, path: &str) {
    while session.ops().exists(path).await.unwrap_or(true) {
        sleep(OWN_INTERVAL).await;
    }
}

/// The pause between attempts to set a watch.
const PAUSE: Duration = Duration::from_secs(1);
