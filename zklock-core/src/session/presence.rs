//! Detects that an own node is gone although this client did not delete it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::path::NodePath;

use super::Session;
use super::charge::Absence;
use super::drive::Driver;
use super::fault::Fault;
use super::notice::{Kind, Subject, Watch};
use super::sentry::{MOMENT, Seen, Sentry};

/// A session, and the path of an own node.
type Own = (Arc<Session>, Arc<str>);

impl Driver {
    /// Resolves when the own node, at this path, is gone, or cannot be watched. Never resolves once the session is
    /// over.
    ///
    /// Listing the children also sets a watch, which takes no extra request and fires when the own node is deleted. A
    /// contender that knew without a list that it was first lists them now. If the watch fires for another reason, one on
    /// the own node is set. The ward begins after a moment, in which most locks are released, or when calls wait behind
    /// the node.
    pub(crate) fn own_node_gone(&mut self, path: Arc<str>) -> impl Future<Output = Absence> + use<> {
        let children = self.children.take();
        let (own, sentry) = ((self.session.clone(), path), self.sentry().clone());
        own_node_gone(own, self.path().clone(), sentry, children)
    }

    /// Begins to watch over the node that was seen at the head of its queue.
    pub(crate) fn begin_watch(&self) {
        self.sentry().begin(self.seen);
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
            sentry.note_watch(false);
        }
    }
}

/// Resolves when an own node is gone, or cannot be watched, whose contender has no watch. Never resolves once the session
/// is over.
pub(crate) async fn unwatched_gone(own: Own, queue: NodePath, sentry: Arc<Sentry>) -> Absence {
    own_node_gone(own, queue, sentry, None).await
}

/// The futures are boxed, except for the wait for the first watch of most locks.
async fn own_node_gone(
    (session, path): Own,
    queue: NodePath,
    sentry: Arc<Sentry>,
    children: Option<Watch>,
) -> Absence {
    let children = match children {
        Some(children @ Watch::Event(_)) => Some(children),
        Some(Watch::Pause(_)) | None => match Box::pin(look_around(&session, &queue, &path, &sentry)).await {
            Ok(children) => children,
            Err(absence) => return absence,
        },
    };
    let sign = match children {
        Some(children) => {
            children.changed().await;
            sentry.note_company();
            sentry.note_watch(false);
            sentry.rest(MOMENT).await;
            Sign::Changed
        }
        None => Sign::Seen,
    };
    Box::pin(gone_since(sign, (session, path), &sentry)).await
}

/// Lists the queue of a holder that has not done so. The list tells whether others wait too, and its watch stands for one
/// on the own node. Returns `None` if the queue cannot be watched.
async fn look_around(
    session: &Session,
    queue: &NodePath,
    own: &str,
    sentry: &Sentry,
) -> Result<Option<Watch>, Absence> {
    let Some(_room) = session.ops().room(Subject::Own, Kind::Children, queue.full()) else { return Ok(None) };
    let children = match session.ops().list(queue.full()).await {
        Ok(children) => Some(children),
        // Servers delete queues in which they list no node.
        Err(Fault::NoNode) => None,
        Err(_) => return Ok(None),
    };
    let name = own.rsplit_once('/').map_or(own, |(_, name)| name);
    match children.filter(|children| children.names.iter().any(|listed| listed == name)) {
        Some(children) => {
            sentry.begin(Seen::of(&children, name));
            Ok(Some(children.watch))
        }
        None => match session.is_unlisted(own).await {
            Ok(_) => Err(Absence::Gone),
            Err(_) => Ok(None),
        },
    }
}

impl Session {
    /// Tells whether a node exists although a list of its queue lacks it, and logs that. Others cannot see such a node, so
    /// that it holds nothing (ZOOKEEPER-4846).
    pub(super) async fn is_unlisted(&self, own: &str) -> Result<bool, Fault> {
        let exists = self.ops().stat(own).await?.is_some();
        if exists {
            tracing::error!(path = own, "the server does not list a node that exists (ZOOKEEPER-4846)");
        }
        Ok(exists)
    }
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
async fn gone_since(mut sign: Sign, (session, path): Own, sentry: &Sentry) -> Absence {
    loop {
        match session.ops().watch_node(Subject::Own, &path).await {
            Ok(Some(own)) => {
                sentry.note_data(&own.data);
                sentry.note_watch(true);
                own.watch.changed().await;
                sentry.note_watch(false);
                sign = Sign::Changed;
            }
            Ok(None) if sign == Sign::Changed => match session.ops().stat(&path).await {
                Ok(None) => return Absence::Gone,
                Ok(Some(_)) | Err(_) => sign = Sign::Seen,
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

/// The pause between attempts to set a watch.
const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use futures_util::future::FutureExt;
    use tokio::sync::oneshot;

    use crate::queue::claim::{Claim, Role};
    use crate::session::drive::{Bid, Numbers};
    use crate::session::notice::{Budget, Change};

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
}
