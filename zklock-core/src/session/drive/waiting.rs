//! Waits until the contenders in front may have left.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::error::Holder;
use crate::queue::acquisition::Event;
use crate::queue::claim::Claim;
use crate::queue::turn::{Ahead, Obstacle};
use crate::session::Session;
use crate::session::charge::Absence;
use crate::session::counter::Counter;
use crate::session::fault::Fault;
use crate::session::notice::{Change, Subject, Watch};
use crate::session::ops::Watched;
use crate::session::presence;

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
            Obstacle::Sole(name) => self.wait_for_turn(&name, cancel, |front| met(&name, front)).await,
            Obstacle::Contender(name) => self.wait_for(&name, cancel, |front| met(&name, front)).await,
            Obstacle::Anyone => self.wait_for_anyone(cancel).await,
        }
    }

    /// Waits for the only contender in front. The turn has come with its end, and the queue need not be listed
    /// again, if the own node existed until then.
    async fn wait_for_turn(
        &mut self,
        predecessor: &str,
        cancel: &CancellationToken,
        met: impl Fn(&Watched),
    ) -> Event {
        let own = match self.machine.node() {
            // A wait that was long before has its own way of watching the own node.
            Some(node) if self.absence.is_none() => self.path.child(&node.name),
            Some(_) | None => return self.wait_for(predecessor, cancel, met).await,
        };
        let front = self.path.child(predecessor);
        let pair = match self.session.ops().watch_pair(&front, &own).await {
            Ok(Some(pair)) => pair,
            Ok(None) => return self.wait_for(predecessor, cancel, met).await,
            Err(fault) => return self.failed(fault),
        };
        let mut watch = match pair.own {
            Ok(watch) => watch,
            Err(Fault::NoNode) => return Event::OwnNodeGone,
            Err(fault) => return self.failed(fault),
        };
        let mut ahead = match pair.predecessor {
            Ok(ahead) => {
                met(&ahead);
                Some(ahead.watch)
            }
            Err(Fault::NoNode) => None,
            Err(fault) => return self.failed(fault),
        };
        let signal = self.until_signal(&mut ahead, &mut watch, cancel).await;
        if let (Signal::Event(_) | Signal::Own(_), Some(ahead)) = (&signal, ahead) {
            self.session.leftovers.keep(front, ahead);
        }
        if let Signal::Own(change) = signal {
            return match change {
                Change::Deleted => Event::OwnNodeGone,
                Change::Other => Event::PredecessorGone,
            };
        }
        // The watch outlives this wait, because dropping it would cost a request to remove it.
        let (session, sentry, own) = (self.session.clone(), self.sentry.clone(), own.into());
        self.absence = Some(Box::pin(async move { presence::gone_from(session, own, watch, &sentry).await }));
        match signal {
            Signal::Event(event) => event,
            Signal::Ahead(Change::Deleted) if self.session.link().epoch == self.epoch => Event::Inherited,
            Signal::Ahead(_) | Signal::Own(_) => Event::PredecessorGone,
        }
    }

    /// Waits for a change of the node in front, which is already gone if there is no watch, or of the own node.
    ///
    /// The events of a connection come in the order of the changes. If both nodes are gone by now, the own one
    /// may have been the first, so it is looked at first.
    async fn until_signal(
        &mut self,
        ahead: &mut Option<Watch>,
        own: &mut Watch,
        cancel: &CancellationToken,
    ) -> Signal {
        let ahead = async {
            match ahead {
                Some(watch) => watch.change().await,
                None => Change::Deleted,
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Signal::Event(Event::Cancel),
            () = self.session.over() => Signal::Event(Event::SessionLost),
            change = own.change() => Signal::Own(change),
            change = ahead => Signal::Ahead(change),
            never = Watch::spend(&mut self.children) => match never {},
        }
    }

    async fn wait_for(
        &mut self,
        predecessor: &str,
        cancel: &CancellationToken,
        met: impl Fn(&Watched),
    ) -> Event {
        let path = self.path.child(predecessor);
        let mut watch = match self.session.ops().watch(Subject::Predecessor, &path).await {
            Ok(Some(ahead)) => {
                met(&ahead);
                ahead.watch
            }
            Ok(None) => return self.wait_unwatched(cancel).await,
            Err(Fault::NoNode) => return Event::PredecessorGone,
            Err(fault) => return self.failed(fault),
        };
        let own: Option<Arc<str>> = self.machine.node().map(|node| self.path.child(&node.name).into());
        let (session, absence, sentry) = (&self.session, &mut self.absence, &self.sentry);
        let expelled = async {
            let Some(own) = own else { return std::future::pending().await };
            if absence.is_none() {
                // Most waits are short. Only a long one spends a request on detecting that an outsider
                // deleted the own node.
                sleep(PATIENCE).await;
            }
            // The watch outlives this wait, because dropping it would cost a request to remove it.
            let absent = absence.get_or_insert_with(|| {
                let (session, sentry, own) = (session.clone(), sentry.clone(), own.clone());
                Box::pin(async move { presence::gone(session, own, &sentry).await })
            });
            let end = absent.await;
            *absence = None;
            if end != Absence::Gone {
                presence::gone_unwatched(session, &own).await;
            }
        };
        let event = tokio::select! {
            biased;
            () = cancel.cancelled() => Event::Cancel,
            () = session.over() => Event::SessionLost,
            _ = watch.change() => return Event::PredecessorGone,
            () = expelled => Event::OwnNodeGone,
            never = Watch::spend(&mut self.children) => match never {},
        };
        session.leftovers.keep(path, watch);
        event
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

/// The reason why the wait for one contender ends.
enum Signal {
    Event(Event),
    /// The own node changed.
    Own(Change),
    /// The node in front changed.
    Ahead(Change),
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
/// The time that a contender waits before it watches its own node as well.
const PATIENCE: Duration = Duration::from_secs(1);
