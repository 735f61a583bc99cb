//! Detects that an own node is gone although this client did not delete it.

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{FusedFuture, FutureExt};
use tokio::time::sleep;

use crate::path::NodePath;

use super::Session;
use super::charge::Absence;
use super::drive::{Driver, Vigil};
use super::fault::Fault;
use super::notice::{Change, Kind, OWN_INTERVAL, Subject, Watch};
use super::sentry::{MOMENT, Seen, Sentry};

/// A session, and the path of an own node.
type Own = (Arc<Session>, Arc<str>);

impl Driver {
    /// Resolves when the own node, at this path, is gone, or cannot be watched. Never resolves once the session is
    /// over.
    ///
    /// A contender that waited long watches its own node already. For others, listing the children also set a
    /// watch, which takes no extra request and fires when the own node is deleted. If it fires for another
    /// reason, or if the contender knew without a list that it was first, a watch on the own node is set. The ward
    /// begins after a moment, in which most locks are released, or when calls wait behind the node.
    pub(crate) fn own_node_gone(&mut self, path: Arc<str>) -> impl Future<Output = Absence> + use<> {
        let (children, absence) = (self.children.take(), self.absence.take());
        let (own, sentry) = ((self.session.clone(), path), self.sentry().clone());
        own_node_gone(own, self.path().clone(), sentry, (children, absence))
    }

    /// Begins to watch over the node that was seen at the head of its queue.
    pub(crate) fn begin_watch(&self) {
        self.sentry().begin(self.seen);
    }

    /// Returns whether the own node has been watched since the contender waited.
    pub(crate) fn has_own_watch(&self) -> bool {
        self.absence.is_some()
    }

    /// Takes note of a change of the children although nobody waits for it, so that a call that follows at once does
    /// not rely on a node that is gone.
    pub(crate) fn glance(&mut self) {
        if let Some(children @ Watch::Event(_)) = &mut self.children
            && children.has_fired()
        {
            *children = Watch::fired();
            let sentry = self.sentry();
            sentry.note_company();
            if self.absence.is_none() {
                sentry.note_watch(false);
            }
        }
    }
}

/// Resolves when an own node is gone, or cannot be watched, whose contender has no watch. Never resolves once the session
/// is over.
pub(crate) async fn unwatched_gone(own: Own, queue: NodePath, sentry: Arc<Sentry>) -> Absence {
    own_node_gone(own, queue, sentry, (None, None)).await
}

/// The futures are boxed, except for the wait for the first watch of most locks.
async fn own_node_gone(
    (session, path): Own,
    queue: NodePath,
    sentry: Arc<Sentry>,
    (children, absence): (Option<Watch>, Option<Vigil>),
) -> Absence {
    let mut children = children.filter(|children| matches!(children, Watch::Event(_)));
    if absence.is_none() && children.is_none() && sentry.is_urged() {
        children = Box::pin(look_around(&session, queue.full(), &path, &sentry)).await;
    }
    match (absence, children) {
        (Some(absence), Some(children)) => {
            Box::pin(gone_beside(absence, children, (session, path), &sentry)).await
        }
        (Some(absence), None) => absence.await,
        (None, Some(children)) => {
            others(children, &sentry).await;
            sentry.note_watch(false);
            Box::pin(async {
                sentry.rest(MOMENT).await;
                gone_since(Sign::Changed, (session, path), &sentry).await
            })
            .await
        }
        (None, None) => Box::pin(gone(session, path, &sentry)).await,
    }
}

/// Resolves when the node with this watch on its absence is gone, or cannot be watched. The watch on the children is
/// kept beside it, because dropping one would cost a request to remove it.
async fn gone_beside(absence: Vigil, children: Watch, own: Own, sentry: &Sentry) -> Absence {
    let mut others = pin!(others(children, sentry).fuse());
    let absence = tokio::select! {
        biased;
        absence = absence => absence,
        never = async { (&mut others).await; pending::<Infallible>().await } => match never {},
    };
    if absence == Absence::Gone || others.is_terminated() {
        return absence;
    }
    // The deletion of the node will fire the watch on the children.
    others.await;
    sentry.note_watch(false);
    Box::pin(gone_since(Sign::Changed, own, sentry)).await
}

/// Waits until the children of the queue may have changed, and takes note that others may have come.
async fn others(children: Watch, sentry: &Sentry) {
    children.changed().await;
    sentry.note_company();
}

/// Lists the queue of a holder that has not done so, because calls of its client wait behind it: the list tells
/// whether others wait too, and its watch stands for one on the own node. Without room for the watch, it is not listed.
async fn look_around(session: &Session, queue: &str, own: &str, sentry: &Sentry) -> Option<Watch> {
    let _room = session.ops().room(Subject::Own, Kind::Children, queue)?;
    let children = session.ops().list(queue).await.ok()?;
    let own = own.rsplit_once('/').map_or(own, |(_, name)| name);
    // Without the own node, a watch on it finds that it is gone.
    children.names.iter().find(|name| *name == own)?;
    sentry.begin(Seen::of(&children, own));
    Some(children.watch)
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

async fn gone_since(mut sign: Sign, (session, path): Own, sentry: &Sentry) -> Absence {
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

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use crate::queue::claim::{Claim, Role};
    use crate::session::drive::{Bid, Numbers};
    use crate::session::notice::Budget;

    use super::*;

    fn driver() -> Driver {
        let path = NodePath::new("", "/a").unwrap();
        let data = Arc::default();
        let (lock, claim, numbers) = (path.clone(), Claim::place(Role::Exclusive), Numbers::Ignored);
        Driver::new(Session::staged(1), Bid { lock, path, claim, data, counter: None, numbers })
    }

    /// Returns a watch, and the end that fires it.
    fn watch(budget: &Budget) -> (oneshot::Sender<()>, Watch) {
        let (fire, fired) = oneshot::channel();
        let share = budget.share(Subject::Own, Kind::Children, "/a").unwrap();
        (fire, Watch::event(fired.map(|_| Change::Other), share))
    }

    #[test]
    fn a_change_of_the_children_is_noticed_at_a_glance() {
        let (mut driver, (fire, children)) = (driver(), watch(&Budget::default()));
        (driver.children, driver.seen) = (Some(children), Seen::Alone);
        driver.begin_watch();
        driver.glance();
        assert!(driver.sentry().is_watched() && driver.sentry().company().is_none());
        fire.send(()).unwrap();
        driver.glance();
        driver.glance();
        assert!(!driver.sentry().is_watched() && driver.sentry().company().is_some());
    }

    #[test]
    fn a_glance_at_a_contender_that_watches_its_own_node_tells_of_company_only() {
        let (mut driver, (fire, children)) = (driver(), watch(&Budget::default()));
        (driver.children, driver.seen) = (Some(children), Seen::Alone);
        driver.absence = Some(Box::pin(pending()));
        driver.begin_watch();
        fire.send(()).unwrap();
        driver.glance();
        assert!(driver.sentry().is_watched() && driver.sentry().company().is_some());
    }

    #[tokio::test]
    async fn a_watch_on_the_children_is_kept_when_there_is_no_room_for_one_on_the_own_node() {
        let (mut driver, budget) = (driver(), Budget::default());
        let (fire, children) = watch(&budget);
        let (end, ended) = oneshot::channel();
        driver.children = Some(children);
        driver.absence = Some(Box::pin(ended.map(Result::unwrap)));
        let mut gone = pin!(driver.own_node_gone("/a/x".into()));
        assert!(gone.as_mut().now_or_never().is_none());
        end.send(Absence::NoRoom).unwrap();
        assert!(gone.as_mut().now_or_never().is_none());
        assert!(budget.bytes() > 0);
        fire.send(()).unwrap();
        assert!(gone.as_mut().now_or_never().is_none(), "the session answers no request");
        assert_eq!(budget.bytes(), 0);
        assert!(!driver.sentry().is_watched());
    }
}
