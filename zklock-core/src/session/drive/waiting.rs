//! Waits until the contenders in front may have left.

use tokio_util::sync::CancellationToken;

use crate::error::Holder;
use crate::queue::acquisition::Event;
use crate::queue::predicate::Predicate;
use crate::queue::turn::{Ahead, Obstacle};
use crate::session::Session;
use crate::session::connection::{Change, Watch};
use crate::session::counter::Counter;
use crate::session::own_node::Seen;
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
        let own = self.session.id();
        let dir = self.path.clone();
        let met = |name: &str, front: &Watched| {
            let created_ms = front.read.stat.ctime;
            tell(Progress::Behind(match front.read.stat.ephemeral_owner {
                0 => Holder::persistent(dir.below(name).relative().to_owned(), created_ms, count),
                owner if owner == own => Holder::this_client(count),
                owner => Holder::other(&front.read.data, owner, created_ms, count),
            }));
        };
        match obstacle {
            Obstacle::Contender(name) => self.wait_for(&name, cancel, |front| met(&name, front)).await,
            Obstacle::Sole(name) => self.wait_for_turn(&name, cancel, |front| met(&name, front)).await,
            Obstacle::Anyone => self.wait_for_anyone(cancel).await,
        }
    }

    async fn wait_for(
        &mut self,
        predecessor: &str,
        cancel: &CancellationToken,
        met: impl Fn(&Watched),
    ) -> Event {
        let (session, path) = (self.session.clone(), self.path.child(predecessor));
        loop {
            let Some(permit) = cancel.run_until_cancelled(session.bounds().requests(1)).await else {
                return Event::Cancel;
            };
            let watched = session.requests().watch_node(&path).await;
            drop(permit);
            let mut ahead = match watched {
                Ok(ahead) => ahead,
                Err(RequestError::NoNode) => return Event::PredecessorGone,
                // The connection broke meanwhile.
                Err(RequestError::Unknown(_)) => {
                    self.rest().await;
                    continue;
                }
                Err(error) => return self.failed(error),
            };
            met(&ahead);
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Event::Cancel,
                () = self.session.over() => return Event::SessionLost,
                change = ahead.watch.change() => match change {
                    // On the next connection, it is probably still there. Lists of many waiters would take long.
                    Change::Disconnected => {}
                    Change::Deleted | Change::Other => return Event::PredecessorGone,
                },
            }
        }
    }

    /// Waits for the end of the only contender in front, which is the own turn if the own node exists until then.
    ///
    /// The events of a connection come in the order of the changes. If both nodes are gone, the own one may have been the
    /// first, so that it is looked at first.
    async fn wait_for_turn(
        &mut self,
        predecessor: &str,
        cancel: &CancellationToken,
        met: impl Fn(&Watched),
    ) -> Event {
        let Some(own) = self.machine.node().map(|node| self.path.child(&node.name)) else {
            return Event::PredecessorGone;
        };
        let front = self.path.child(predecessor);
        loop {
            match self.wait_for_either(&front, &own, cancel, &met).await {
                // On the next connection, both are looked at again.
                Ok(Change::Disconnected) => {}
                Ok(Change::Deleted) if self.session.link().is_on(self.connection) => {
                    self.seen = Seen::Others;
                    return Event::Inherited;
                }
                Ok(Change::Deleted | Change::Other) => return Event::PredecessorGone,
                Err(event) => return event,
            }
        }
    }

    /// Waits for the end of the node in front or of the own one, on one connection. Returns the change of the former.
    async fn wait_for_either(
        &mut self,
        front: &str,
        own: &str,
        cancel: &CancellationToken,
        met: &impl Fn(&Watched),
    ) -> Result<Change, Event> {
        let session = self.session.clone();
        let permit = cancel.run_until_cancelled(session.bounds().requests(2)).await.ok_or(Event::Cancel)?;
        let (watch_front, watch_own) =
            (session.requests().watch_node(front), session.requests().watch_node(own));
        let (watched_front, watched_own) = tokio::join!(biased; watch_front, watch_own);
        drop(permit);
        let (mut own, connection) = match watched_own {
            Ok(own) => (own.watch, own.connection),
            Err(RequestError::NoNode) => return Err(Event::PredecessorGone),
            Err(error) => return Err(self.failed(error)),
        };
        let change = match watched_front {
            Ok(ahead) if ahead.connection != connection => return Ok(Change::Disconnected),
            Ok(mut ahead) => {
                self.connection = connection;
                met(&ahead);
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => Err(Event::Cancel),
                    () = session.over() => Err(Event::SessionLost),
                    change = own.change() => return match change {
                        Change::Disconnected => Ok(change),
                        Change::Deleted | Change::Other => Err(Event::PredecessorGone),
                    },
                    change = ahead.watch.change() => Ok(change),
                }
            }
            Err(RequestError::NoNode) => Ok(Change::Deleted),
            Err(error) => Err(self.failed(error)),
        };
        // Kept until the own node is deleted, because the library sends a request for a watch that is dropped before.
        self.children = Some(own.keeping(self.children.take()));
        change
    }

    /// Waits for a change of the children since they were listed, or of the number of permits.
    async fn wait_for_anyone(&mut self, cancel: &CancellationToken) -> Event {
        // Without a list, there is none to wait for.
        let mut children = self.children.take().unwrap_or_else(Watch::fired);
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
