//! Detects that an own node is gone although this client did not delete it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::SemaphorePermit;
use tokio::time::{sleep, timeout};

use crate::error::LossReason;
use crate::path::NodePath;

use super::Session;
use super::connection::{Change, Watch};
use super::drive::Driver;
use super::request_error::RequestError;
use super::sentry::{MOMENT, Seen, Sentry};

/// A session, and the path of an own node.
type Own = (Arc<Session>, Arc<str>);

impl Driver {
    /// Resolves when the own node, at this path, is gone or belongs to another session. Never resolves once the session
    /// is over.
    ///
    /// Listing the children also sets a watch, which takes no extra request and fires when the own node is deleted. A
    /// contender that knew without a list that it was first lists them after a moment, in which most locks are released, or
    /// when calls wait behind the node. If the watch fires for another reason, one on the own node is set.
    pub(crate) fn own_node_gone(&mut self, path: Arc<str>) -> impl Future<Output = LossReason> + use<> {
        let children = self.children.take();
        let (own, sentry) = ((self.session.clone(), path), self.sentry().clone());
        own_node_gone(own, (self.path().clone(), self.listed), sentry, children)
    }

    /// Begins to watch over the node that was seen at the head of its queue.
    pub(crate) fn begin_watch(&self) {
        self.sentry().begin(self.seen);
    }
}

/// The futures are boxed, except for the wait for the first watch of most locks.
async fn own_node_gone(
    (session, path): Own,
    (queue, listed): (NodePath, u64),
    sentry: Arc<Sentry>,
    mut children: Option<Watch>,
) -> LossReason {
    let seen = sentry.connection();
    if children.is_none() {
        sentry.rest(MOMENT).await;
        // What a later connection answers does not tell of the owner of the node.
        let mut links = session.links();
        children = tokio::select! {
            biased;
            _ = links.wait_for(|link| !link.is_on(seen)) => None,
            children = Box::pin(look_around(&session, &queue, &path, &sentry)) => match children {
                Ok(children) => children,
                Err(loss) => return loss,
            },
        };
    }
    if let Some(watch) = &mut children {
        tokio::select! {
            biased;
            change = watch.change() => {
                children = None;
                sentry.note_watch(false);
                if change != Change::Disconnected {
                    sentry.note_company();
                    sentry.rest(MOMENT).await;
                }
            }
            () = sentry.until(Sentry::is_read) => {}
        }
    }
    let loss = Box::pin(lost((session, path), (queue, listed), &sentry)).await;
    // Fired by the end of the node. Dropping it earlier would cost a request to remove it.
    drop(children);
    loss
}

/// Lists the queue of a holder that has not done so. The list tells whether others wait too, and its watch stands for one
/// on the own node. Returns `None` if there is no list.
async fn look_around(
    session: &Session,
    queue: &NodePath,
    own: &str,
    sentry: &Sentry,
) -> Result<Option<Watch>, LossReason> {
    let permit = may_ask(session, sentry).await;
    let listed = session.requests().list(queue.full()).await;
    drop(permit);
    let children = match listed {
        Ok(children) => Some(children),
        // Servers delete queues in which they list no node.
        Err(RequestError::NoNode) => None,
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

/// Waits until a request about the own node may be sent. None is sent behind the one that deletes the node.
async fn may_ask<'a>(session: &'a Session, sentry: &Sentry) -> SemaphorePermit<'a> {
    match sentry.is_leaving() {
        true => pending().await,
        false => session.bounds().requests(1).await,
    }
}

impl Session {
    /// Tells whether a node exists although a list of its queue lacks it, and logs that. Others cannot see such a node, so
    /// that it holds nothing (ZOOKEEPER-4846).
    pub(super) async fn is_unlisted(&self, own: &str) -> Result<bool, RequestError> {
        let exists = self.requests().stat(own).await?.is_some();
        if exists {
            tracing::error!(path = own, "the server does not list a node that exists (ZOOKEEPER-4846)");
        }
        Ok(exists)
    }
}

/// Tells whether the server does not list a node that it has. A server that was started again may have forgotten some
/// (ZOOKEEPER-4846).
async fn is_missing(session: &Session, queue: &NodePath, own: &str, sentry: &Sentry) -> bool {
    let permit = may_ask(session, sentry).await;
    let names = session.requests().names(queue.full()).await;
    drop(permit);
    let name = own.rsplit_once('/').map_or(own, |(_, name)| name);
    let is_listed = match names {
        Ok(names) => names.iter().any(|listed| listed == name),
        // Servers delete queues in which they list no node.
        Err(RequestError::NoNode) => false,
        Err(_) => return false,
    };
    !is_listed && matches!(session.is_unlisted(own).await, Ok(true))
}

/// Resolves when the node is lost, and meanwhile takes note of its data and of the connections on which it was seen. Never
/// resolves once the session is over.
///
/// The queue was last listed on the given connection. It is listed once on each later one.
async fn lost((session, path): Own, (queue, mut listed): (NodePath, u64), sentry: &Sentry) -> LossReason {
    loop {
        let permit = may_ask(&session, sentry).await;
        let read = session.requests().watch_node(&path).await;
        drop(permit);
        match read {
            Ok(own) if own.owner != session.id() => return LossReason::OwnerChanged,
            Ok(mut own) => {
                sentry.note_data(&own.data);
                // The children are not watched any more.
                sentry.note_company();
                sentry.note_watch(true);
                sentry.note_seen(own.connection);
                if own.connection > listed {
                    listed = own.connection;
                    if is_missing(&session, &queue, &path, sentry).await {
                        return LossReason::NodeDeleted;
                    }
                }
                own.watch.change().await;
                sentry.note_watch(false);
            }
            Err(RequestError::NoNode) => return LossReason::NodeDeleted,
            Err(RequestError::Unknown(_)) => sleep(PAUSE).await,
            Err(RequestError::Denied(_) | RequestError::Refused(_)) => {
                if let Some(loss) = unreadable(&session, &path, sentry).await {
                    return loss;
                }
            }
            Err(RequestError::SessionOver) => return pending().await,
        }
    }
}

/// Looks whether a node is there that the client may not read, and waits until it is time to look again.
async fn unreadable(session: &Session, path: &str, sentry: &Sentry) -> Option<LossReason> {
    sentry.note_unwatchable();
    let connection = session.link().connection;
    match session.requests().stat(path).await {
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
