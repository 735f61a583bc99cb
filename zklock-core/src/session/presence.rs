//! Detects that an own node is gone although this client did not delete it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::error::LossReason;
use crate::path::NodePath;

use super::Session;
use super::drive::Driver;
use super::fault::Fault;
use super::sentry::{MOMENT, Seen, Sentry};
use super::watches::{Change, Watch};

/// A session, and the path of an own node.
type Own = (Arc<Session>, Arc<str>);

impl Driver {
    /// Resolves when the own node, at this path, is gone or belongs to another session. Never resolves once the session
    /// is over.
    ///
    /// Listing the children also sets a watch, which takes no extra request and fires when the own node is deleted. A
    /// contender that knew without a list that it was first lists them now. If the watch fires for another reason, one on
    /// the own node is set. The ward begins after a moment, in which most locks are released, or when calls wait behind
    /// the node.
    pub(crate) fn own_node_gone(&mut self, path: Arc<str>) -> impl Future<Output = LossReason> + use<> {
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
        if let Some(children) = &mut self.children
            && children.has_fired()
        {
            *children = Watch::fired();
            let sentry = self.sentry();
            sentry.note_company();
            sentry.note_watch(false);
        }
    }
}

/// Resolves when an own node is lost whose contender has no watch. Never resolves once the session is over.
pub(crate) async fn unwatched_gone(own: Own, queue: NodePath, sentry: Arc<Sentry>) -> LossReason {
    own_node_gone(own, queue, sentry, None).await
}

/// The futures are boxed, except for the wait for the first watch of most locks.
async fn own_node_gone(
    (session, path): Own,
    queue: NodePath,
    sentry: Arc<Sentry>,
    children: Option<Watch>,
) -> LossReason {
    let is_on_first = session.link().is_on(sentry.connection());
    let children = match children {
        None if is_on_first => match Box::pin(look_around(&session, &queue, &path, &sentry)).await {
            Ok(children) => children,
            Err(loss) => return loss,
        },
        children => children,
    };
    if let Some(mut children) = children {
        let change = children.change().await;
        sentry.note_watch(false);
        if change != Change::Disconnected {
            sentry.note_company();
            sentry.rest(MOMENT).await;
        }
    }
    Box::pin(lost((session, path), &sentry)).await
}

/// Lists the queue of a holder that has not done so. The list tells whether others wait too, and its watch stands for one
/// on the own node. Returns `None` if there is no list.
async fn look_around(
    session: &Session,
    queue: &NodePath,
    own: &str,
    sentry: &Sentry,
) -> Result<Option<Watch>, LossReason> {
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
            Ok(_) => Err(LossReason::NodeDeleted),
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

/// Resolves when the node is lost, and meanwhile takes note of its data and of the connections on which it was seen. Never
/// resolves once the session is over.
async fn lost((session, path): Own, sentry: &Sentry) -> LossReason {
    loop {
        let permit = session.bounds().requests(1).await;
        let read = session.ops().watch_node(&path).await;
        drop(permit);
        match read {
            Ok(own) if own.owner != session.id() => return LossReason::OwnerChanged,
            Ok(mut own) => {
                sentry.note_data(&own.data);
                // The children are not watched any more.
                sentry.note_company();
                sentry.note_watch(true);
                sentry.note_seen(own.connection);
                own.watch.change().await;
                sentry.note_watch(false);
            }
            Err(Fault::NoNode) => return LossReason::NodeDeleted,
            Err(Fault::Unknown(_)) => sleep(PAUSE).await,
            Err(Fault::Denied(_) | Fault::Refused(_)) => {
                if let Some(loss) = unreadable(&session, &path, sentry).await {
                    return loss;
                }
            }
            Err(Fault::SessionOver) => return pending().await,
        }
    }
}

/// Looks whether a node is there that the client may not read, and waits until it is time to look again.
async fn unreadable(session: &Session, path: &str, sentry: &Sentry) -> Option<LossReason> {
    sentry.note_unwatchable();
    let connection = session.link().connection;
    match session.ops().stat(path).await {
        Ok(None) => return Some(LossReason::NodeDeleted),
        Ok(Some(own)) if own.owner != session.id() => return Some(LossReason::OwnerChanged),
        Ok(Some(_)) => sentry.note_seen(connection),
        Err(_) => {}
    }
    let mut links = session.links();
    timeout(INTERVAL, links.wait_for(|link| link.connection != connection)).await.ok();
    None
}

/// The pause after a read without an answer.
const PAUSE: Duration = Duration::from_millis(100);
/// The interval at which a node that cannot be read is looked for.
const INTERVAL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use crate::queue::claim::{Claim, Role};
    use crate::session::drive::{Bid, Numbers};

    use super::*;

    fn driver() -> Driver {
        let path = NodePath::new("", "/a").unwrap();
        let data = Arc::default();
        let (lock, claim, numbers) = (path.clone(), Claim::place(Role::Exclusive), Numbers::Ignored);
        Driver::new(Session::staged(1), Bid { lock, path, claim, data, counter: None, numbers })
    }

    #[test]
    fn a_change_of_the_children_is_noticed_at_a_glance() {
        let (mut driver, (fire, fired)) = (driver(), oneshot::channel::<()>());
        let children = Watch::when(async { drop(fired.await) });
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
