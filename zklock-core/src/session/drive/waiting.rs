//! Waits until the contenders in front may have left.

use futures_util::future::OptionFuture;
use tokio_util::sync::CancellationToken;

use crate::connection::{Change, Watch};
use crate::error::Holder;
use crate::queue::acquisition::Event;
use crate::queue::predicate::Predicate;
use crate::queue::turn::{Ahead, Obstacle};
use crate::session::Session;
use crate::session::counter::Counter;
use crate::session::request_error::RequestError;
use crate::session::requests::Watched;

use super::{Driver, Progress};

impl Driver {
    pub(super) async fn wait_behind(
        &mut self,
        Ahead { obstacle, count }: Ahead,
        cancel: &CancellationToken,
        tell: &impl Fn(Progress),
    ) -> Event {
        let (name, own) = match obstacle {
            Obstacle::Contender(name) => (name, None),
            Obstacle::Sole(name) => (name, self.machine.node().map(|node| self.path.child(&node.name))),
            Obstacle::Anyone => return self.wait_for_anyone(cancel).await,
        };
        let (session, path) = (self.session.id(), self.path.below(&name));
        let met = |front: &Watched| {
            let created_ms = front.read.stat.ctime;
            tell(Progress::Behind(match front.read.stat.ephemeral_owner {
                0 => Holder::persistent(path.relative().to_owned(), created_ms, count),
                owner if owner == session => Holder::this_client(count),
                owner => Holder::other(&front.read.data, owner, created_ms, count),
            }));
        };
        self.wait_for(path.full(), own, cancel, met).await
    }

    /// Waits for the end of a contender in front. If it is the only one in front of the `own` node, its end is the own turn.
    ///
    /// The answers and events of a connection come in the order of the changes. If the one in front is gone before it is
    /// watched, the list has just shown the own node, as for a contender that the list shows at the head. Otherwise the own
    /// node is watched, too. If both are gone then, the own one may have been the first, so that its watch is looked at first.
    async fn wait_for(
        &mut self,
        front: &str,
        own: Option<String>,
        cancel: &CancellationToken,
        met: impl Fn(&Watched),
    ) -> Event {
        // Counts for the first read only. The list is too old for another one.
        let mut listed = own.as_ref().map(|_| self.listed);
        loop {
            let seen = listed.take();
            let front = match self.watch(front, cancel).await {
                Ok(front) => front,
                Err(Some(Event::PredecessorGone)) => return self.front_gone(seen),
                Err(Some(event)) => return event,
                // On the next connection, it is probably still there. Lists of many waiters would take long.
                Err(None) => continue,
            };
            met(&front);
            let mut own = match &own {
                Some(own) => match self.watch(own, cancel).await {
                    Ok(own) => Some(own),
                    Err(Some(event)) => return event,
                    Err(None) => continue,
                },
                None => None,
            };
            let change = self.first_change(front.watch, &mut own, cancel).await;
            if change == Ok(Change::Disconnected) {
                continue;
            }
            let connection = own.as_ref().map(|own| own.connection);
            if let Some(own) = own {
                // Kept until the own node is deleted, because the library sends a request for a watch that is dropped before.
                self.children = Some(own.watch);
            }
            return match change {
                Ok(Change::Deleted) => self.front_gone(connection),
                Ok(_) => Event::PredecessorGone,
                Err(event) => event,
            };
        }
    }

    /// Reads and watches a node. Returns the event if it cannot be watched, which is `PredecessorGone` if there is no node,
    /// or none if that is to be tried again.
    async fn watch(&mut self, path: &str, cancel: &CancellationToken) -> Result<Watched, Option<Event>> {
        let session = self.session.clone();
        let permit = cancel.run_until_cancelled(session.bounds().requests(1)).await;
        let permit = permit.ok_or(Some(Event::Cancel))?;
        let watched = session.requests().watch_node(path).await;
        // A pause may follow.
        drop(permit);
        match watched {
            Ok(watched) => Ok(watched),
            Err(RequestError::NoNode) => Err(Some(Event::PredecessorGone)),
            Err(RequestError::Unknown(_)) => {
                self.rest().await;
                Err(None)
            }
            Err(error) => Err(Some(self.failed(error))),
        }
    }

    /// Returns what the end of the node in front means. If it was the only one, the own node was seen on `connection`.
    fn front_gone(&mut self, connection: Option<u64>) -> Event {
        match connection {
            Some(connection) if self.session.link().is_on(connection) => {
                (self.connection, self.has_others) = (connection, true);
                Event::Inherited
            }
            _ => Event::PredecessorGone,
        }
    }

    /// Waits for a change of the node in front, or of the own node, whose watch has fired then and is taken away.
    async fn first_change(
        &self,
        mut front: Watch,
        own: &mut Option<Watched>,
        cancel: &CancellationToken,
    ) -> Result<Change, Event> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Event::Cancel),
            () = self.session.over() => Err(Event::SessionLost),
            Some(change) = OptionFuture::from(own.as_mut().map(|own| own.watch.change())) => {
                *own = None;
                Ok(change)
            }
            change = front.change() => Ok(change),
        }
    }

    /// Waits for a change of the children since they were listed, or of the number of permits.
    async fn wait_for_anyone(&mut self, cancel: &CancellationToken) -> Event {
        // Without a list, there is none to wait for.
        let Some(mut children) = self.children.take() else { return Event::PredecessorGone };
        let recounted = async {
            match &mut self.counter {
                Some(counter) => recounted(counter, &self.session, self.machine.predicate()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Event::Cancel,
            () = self.session.over() => Event::SessionLost,
            // Polled before the event of the children, which may come right behind the answer and would drop its watch.
            outcome = recounted => match outcome {
                Ok(count) => Event::Permits(count),
                Err(error) => self.count_failed(error),
            },
            _ = children.change() => Event::PredecessorGone,
        }
    }

    pub(super) fn count_failed(&mut self, error: RequestError) -> Event {
        let counter = self.counter.as_ref().map(|counter| counter.path().relative().to_owned());
        let path = counter.unwrap_or_else(|| self.place());
        self.failed_at(&path, error)
    }
}

/// Waits until the number of permits is another one than that of the predicate.
async fn recounted(
    counter: &mut Counter,
    session: &Session,
    predicate: &Predicate,
) -> Result<u32, RequestError> {
    loop {
        let of = counter.changed(session).await?;
        if *predicate != (Predicate::Permit { of }) {
            return Ok(of);
        }
    }
}
