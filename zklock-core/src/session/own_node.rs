//! The node of a holder: what its watches tell, and whether it is gone although this client did not delete it.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_lite::future::or;

use crate::change::{Mutex, Signal};
use crate::error::LossReason;
use crate::queue::contender::is_numbered;
use crate::time::{sleep, sleep_until, timeout};

use super::Session;
use super::request_error::RequestError;
use crate::connection::{Change, Watch};

/// The data of a holder's node that asks the holder to release (Curator's `LockInternals.REVOKE_MESSAGE`).
pub(crate) const REVOKE: &[u8] = b"__REVOKE__";

/// What is known of one contender's node, and what others want to know.
#[derive(Debug, Default)]
pub(crate) struct OwnNode {
    news: Mutex<News>,
    changed: Signal,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// Since when other contenders may wait. Only a list that shows none resets it, because a watch tells only of
    /// the first one.
    pub(crate) contended_since: Option<Instant>,
    /// Whether others rely on the node, so that it is to be watched without delay.
    pub(crate) is_urged: bool,
    /// Whether somebody wants to know of requests to release.
    pub(crate) is_read: bool,
    /// Whether the holder is asked to release.
    pub(crate) is_asked: bool,
    /// Whether the node is being replaced, or a request that deletes it has been issued.
    pub(crate) is_leaving: bool,
    /// Whether nobody has a claim to it any more.
    pub(crate) is_given_up: bool,
    /// Whether the request that deletes it has been handed to the connection.
    pub(crate) is_handed_over: bool,
    /// The last connection on which the node was seen to belong to the session.
    pub(crate) connection: u64,
}

/// Returns whether a list shows others to the contender with the node `own`.
pub(super) fn has_others(names: &[String], own: &str) -> bool {
    names.iter().any(|name| name != own && is_numbered(name))
}

impl News {
    /// Notes that others may wait.
    pub(crate) fn note_others(&mut self) {
        self.contended_since.get_or_insert_with(Instant::now);
    }
}

impl OwnNode {
    pub(crate) fn news(&self) -> News {
        *self.news.lock()
    }

    /// Changes what is known, and signals it if it is another thing then.
    pub(crate) fn note(&self, change: impl FnOnce(&mut News)) {
        let mut news = self.news.lock();
        let before = *news;
        change(&mut news);
        let is_changed = *news != before;
        drop(news);
        if is_changed {
            self.changed.notify();
        }
    }

    /// Signals news. The lease of the node signals its own changes by it, too.
    pub(crate) fn changed(&self) -> &Signal {
        &self.changed
    }

    /// Waits until there are news.
    pub(crate) fn until(&self, are_there: impl Fn(News) -> bool) -> impl Future<Output = ()> {
        self.changed.until(move || are_there(self.news()).then_some(()))
    }

    /// Takes note that the node was seen to belong to the session.
    pub(crate) fn note_seen(&self, connection: u64) {
        self.note(|news| news.connection = news.connection.max(connection));
    }

    /// Takes note of the data of the node.
    pub(crate) fn note_data(&self, data: &[u8]) {
        self.note(|news| news.is_asked |= data == REVOKE);
    }

    /// Takes note of a list that shows others, which may wait since this instant, or none.
    pub(super) fn note_list(&self, others: Option<Instant>) {
        self.note(|news| {
            news.contended_since = others.map(|since| news.contended_since.unwrap_or(since));
        });
    }

    /// Waits before a request for a watch until the node has been held for [`MOMENT`], unless others rely on the watch
    /// already. Most locks are released before that, and need none.
    async fn rest(&self, since: Instant) {
        let relied_on = self.until(|news| news.is_urged || news.is_read);
        // Boxed, because most of the time of a long hold comes after it.
        Box::pin(or(relied_on, sleep_until(since + MOMENT))).await;
    }
}

/// A held node whose end is waited for.
pub(super) struct NodeWatcher {
    pub(super) session: Arc<Session>,
    pub(super) path: Arc<str>,
    /// The connection on which the queue was last listed.
    pub(super) listed: u64,
    /// Whether others waited already when the contender got its turn.
    pub(super) has_others: bool,
    pub(super) known: Arc<OwnNode>,
}

impl NodeWatcher {
    /// Resolves when the node is gone or belongs to another session. Sends no request once the session is over.
    ///
    /// A holder has no watch at first, unless it claims a permit, or watched its node when it waited for another contender. It
    /// sets one after a moment, in which most locks are released, or when others rely on the node:
    ///
    /// * on the own node, if others waited already, or if a request to release matters;
    /// * on the children otherwise, by a list. It fires when another contender comes, and when the own node is deleted. Then
    ///   one on the own node is set.
    ///
    /// The futures are boxed, except for the wait for the first watch of most locks.
    #[expect(clippy::manual_async_fn, reason = "the future of an `async fn` has its arguments twice")]
    pub(super) fn gone(mut self, mut children: Option<Watch>) -> impl Future<Output = LossReason> + Send {
        async move {
            let (since, seen) = (Instant::now(), self.known.news().connection);
            if children.is_none() {
                self.known.rest(since).await;
                let lists = !self.has_others && !self.known.news().is_read;
                // On a later connection, the node is read before the queue is listed.
                if lists && self.session.link().is_on(seen) {
                    children = match Box::pin(self.list_queue(since)).await {
                        Ok(children) => children,
                        Err(loss) => return loss,
                    };
                }
            }
            // What a later connection answers does not tell of the owner of the node.
            if let Some(watch) = children.as_mut().filter(|_| self.session.link().is_on(seen)) {
                tokio::select! {
                    biased;
                    change = watch.change() => {
                        children = None;
                        if change == Change::Other {
                            self.known.note(News::note_others);
                            self.known.rest(since).await;
                        }
                    }
                    () = self.known.until(|news| news.is_read) => {}
                }
            }
            let loss = Box::pin(self.lost()).await;
            // Fired by the end of the node. Dropping it earlier would cost a request to remove it.
            drop(children);
            loss
        }
    }

    /// Sends a request about the node, if it is still of use: none is sent behind the one that deletes or replaces the node,
    /// and none once the session is over.
    async fn ask<T>(&self, request: impl Future<Output = T>) -> T {
        loop {
            self.known.until(|news| !news.is_leaving).await;
            let permit = self.session.bounds().requests(1).await;
            self.session.requests().connected().await;
            if self.session.is_over() {
                drop(permit);
                return pending().await;
            }
            if !self.known.news().is_leaving {
                return request.await;
            }
        }
    }

    /// Lists the queue of a holder that has not done so. The list tells whether others wait too, and its watch stands for
    /// one on the own node. Returns `None` if there is no list.
    async fn list_queue(&mut self, since: Instant) -> Result<Option<Watch>, LossReason> {
        let listed = self.ask(self.session.requests().list(self.place().0)).await;
        let Ok(children) = listed else { return Ok(None) };
        self.listed = children.connection;
        if self.is_missing(&children.names).await {
            return Err(LossReason::NodeDeleted);
        }
        // A list without the node has a watch that does not fire at its end.
        if !self.is_in(&children.names) {
            return Ok(None);
        }
        // They may have come right behind the holder.
        self.known.note_list(has_others(&children.names, self.name()).then_some(since));
        Ok(children.watch)
    }

    /// Returns whether a list lacks the node, so that it is gone, or the server does not list it. A server that was started
    /// again may have forgotten some (ZOOKEEPER-4846), and deletes queues in which it lists no node.
    async fn is_missing(&self, names: &[String]) -> bool {
        !self.is_in(names) && self.ask(self.session.is_unlisted(&self.path)).await.is_ok()
    }

    fn is_in(&self, names: &[String]) -> bool {
        names.iter().any(|name| name == self.name())
    }

    fn name(&self) -> &str {
        self.place().1
    }

    /// Returns the path of the queue, and the name of the node in it.
    fn place(&self) -> (&str, &str) {
        self.path.rsplit_once('/').unwrap_or(("", &self.path))
    }

    /// Resolves when the node is lost, and meanwhile takes note of its data and of the connections on which it was seen.
    ///
    /// The queue is listed once on each connection.
    async fn lost(&mut self) -> LossReason {
        let session = self.session.clone();
        loop {
            match self.ask(session.requests().watch_node(&self.path)).await {
                Ok(own) if own.read.stat.ephemeral_owner != session.id() => return LossReason::OwnerChanged,
                Ok(mut own) => {
                    self.known.note_data(&own.read.data);
                    // The children are not watched any more.
                    self.known.note(News::note_others);
                    self.known.note_seen(own.connection);
                    if own.connection > self.listed && self.is_unlisted_on(own.connection).await {
                        return LossReason::NodeDeleted;
                    }
                    own.watch.change().await;
                }
                Err(RequestError::NoNode) => return LossReason::NodeDeleted,
                Err(RequestError::Unknown(_)) => sleep(PAUSE).await,
                Err(RequestError::Denied(_) | RequestError::Refused(_)) => {
                    if let Some(loss) = self.unreadable().await {
                        return loss;
                    }
                }
                Err(RequestError::SessionOver) => return pending().await,
            }
        }
    }

    async fn is_unlisted_on(&mut self, connection: u64) -> bool {
        self.listed = connection;
        let names = self.ask(self.session.requests().names(self.place().0)).await;
        match names {
            Ok(names) => self.is_missing(&names).await,
            Err(_) => false,
        }
    }

    /// Looks whether a node is there that the client may not read, and waits until it is time to look again. A turn ends
    /// soon then, because there may be others.
    async fn unreadable(&self) -> Option<LossReason> {
        self.known.note(News::note_others);
        let session = &self.session;
        let connection = session.link().connection;
        match self.ask(session.requests().stat(&self.path)).await {
            Ok(None) => return Some(LossReason::NodeDeleted),
            Ok(Some(own)) if own.ephemeral_owner != session.id() => return Some(LossReason::OwnerChanged),
            Ok(Some(_)) => self.known.note_seen(connection),
            Err(_) => {}
        }
        let mut links = session.links();
        timeout(INTERVAL, links.wait_for(|link| link.connection != connection)).await.ok();
        None
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

/// The time for which a node is held before it is watched.
const MOMENT: Duration = Duration::from_millis(50);
/// The pause after a read without an answer.
const PAUSE: Duration = Duration::from_millis(100);
/// The interval at which a node that cannot be read is looked for.
const INTERVAL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_without_others_ends_the_time_of_those_that_wait() {
        let own = OwnNode::default();
        let since = Instant::now();
        own.note_list(Some(since));
        own.note_list(Some(since + PAUSE));
        assert_eq!(own.news().contended_since, Some(since));
        own.note_list(None);
        assert_eq!(own.news().contended_since, None);
    }
}
