//! Waits until the contenders in front may have left.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::error::Holder;
use crate::queue::acquisition::Event;
use crate::queue::claim::Claim;
use crate::queue::turn::{Ahead, Obstacle};
use crate::session::Session;
use crate::session::counter::Counter;
use crate::session::fault::Fault;
use crate::session::notice::{Change, Subject, Watch};
use crate::session::ops::Watched;
use crate::session::sentry::Seen;

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
            tell(Progress::Behind(match front.owner {
                0 => Holder::persistent(dir.below(name).relative().to_owned(), front.created_ms, count),
                owner if owner == own => Holder::this_client(count),
                owner => Holder::other(&front.data, owner, front.created_ms, count),
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
        let Some(permit) = cancel.run_until_cancelled(session.bounds().requests(1)).await else {
            return Event::Cancel;
        };
        let watched = session.ops().watch_node(Subject::Predecessor, &path).await;
        drop(permit);
        let mut watch = match watched {
            Ok(Some(ahead)) => {
                met(&ahead);
                ahead.watch
            }
            Ok(None) => return self.wait_unwatched(cancel).await,
            Err(Fault::NoNode) => return Event::PredecessorGone,
            Err(fault) => return self.failed(fault),
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Event::Cancel,
            () = self.session.over() => Event::SessionLost,
            _ = watch.change() => Event::PredecessorGone,
            never = Watch::spend(&mut self.children) => match never {},
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
        let (session, front) = (self.session.clone(), self.path.child(predecessor));
        let Some(permit) = cancel.run_until_cancelled(session.bounds().requests(2)).await else {
            return Event::Cancel;
        };
        let (watch_front, watch_own) = (
            session.ops().watch_node(Subject::Predecessor, &front),
            session.ops().watch_node(Subject::Predecessor, &own),
        );
        let (watched_front, watched_own) = tokio::join!(biased; watch_front, watch_own);
        drop(permit);
        let mut own = match watched_own {
            Ok(Some(own)) => own.watch,
            Ok(None) => return self.wait_unwatched(cancel).await,
            Err(Fault::NoNode) => return Event::PredecessorGone,
            Err(fault) => return self.failed(fault),
        };
        let change = match watched_front {
            Ok(Some(mut ahead)) => {
                met(&ahead);
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => Err(Event::Cancel),
                    () = session.over() => Err(Event::SessionLost),
                    _ = own.change() => return Event::PredecessorGone,
                    change = ahead.watch.change() => Ok(change),
                    never = Watch::spend(&mut self.children) => match never {},
                }
            }
            Err(Fault::NoNode) => Ok(Change::Deleted),
            Ok(None) => Ok(Change::Other),
            Err(fault) => Err(self.failed(fault)),
        };
        // Kept until the own node is deleted, because the library sends a request for a watch that is dropped before.
        self.children = Some(own.keeping(self.children.take()));
        match change {
            Ok(Change::Deleted) if session.link().epoch == self.epoch => {
                self.seen = Seen::Others;
                Event::Inherited
            }
            Ok(_) => Event::PredecessorGone,
            Err(event) => event,
        }
    }

    /// Waits until the queue is to be listed again, because there is no room for a watch.
    ///
    /// Each contender lists for itself, and asks for room again after each list.
    async fn wait_unwatched(&mut self, cancel: &CancellationToken) -> Event {
        let pause = pause_after(self.names);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Event::Cancel,
            () = self.session.over() => Event::SessionLost,
            () = sleep(pause) => Event::PredecessorGone,
            never = Watch::spend(&mut self.children) => match never {},
        }
    }

    /// Waits for a change of the children since they were listed, or of the number of permits.
    async fn wait_for_anyone(&mut self, cancel: &CancellationToken) -> Event {
        let changed = match self.children.take() {
            Some(event @ Watch::Event(_)) => event,
            // An unwatched list comes with the interval of a holder, and a waiter lists more often.
            Some(Watch::Pause(_)) | None => Watch::Pause(INTERVAL),
        }
        .changed();
        let recounted = async {
            match &mut self.counter {
                Some(counter) => recounted(counter, &self.session, self.machine.claim()).await,
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
                Err(fault) => self.count_failed(fault),
            },
            () = changed => Event::PredecessorGone,
        }
    }

    pub(super) fn count_failed(&mut self, fault: Fault) -> Event {
        let counter = self.counter.as_ref().map(|counter| counter.path().relative().to_owned());
        let path = counter.unwrap_or_else(|| self.place());
        self.failed_at(&path, fault)
    }
}

/// Waits until the number of permits is another one than that of the claim.
async fn recounted(counter: &mut Counter, session: &Session, claim: &Claim) -> Result<u32, Fault> {
    loop {
        let of = counter.changed(session).await?;
        if *claim != (Claim::Permit { of }) {
            return Ok(of);
        }
    }
}

/// Returns the pause before a queue that is not watched is listed again, if its last list had this many names.
fn pause_after(names: usize) -> Duration {
    let for_names = PAUSE_PER_NAME * u32::try_from(names).unwrap_or(u32::MAX);
    (INTERVAL + for_names).min(LONGEST_INTERVAL)
}

/// The shortest interval at which a contender lists children for which there is no room for a watch.
const INTERVAL: Duration = Duration::from_secs(1);
/// Bounds the names that a contender reads to 8,000 per second, unless the list is longer than 72,000 names.
const PAUSE_PER_NAME: Duration = Duration::from_micros(125);
/// The longest interval, whatever the length of the list.
const LONGEST_INTERVAL: Duration = Duration::from_secs(10);
