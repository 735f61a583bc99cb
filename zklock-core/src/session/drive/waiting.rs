//! Waits until the contenders in front may have left.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::queue::acquisition::Event;
use crate::queue::turn::Obstacle;
use crate::session::fault::Fault;
use crate::session::notice::{Subject, Watch};
use crate::session::presence;

use super::{Absence, Driver};

impl Driver {
    pub(super) async fn wait_behind(&mut self, obstacle: Obstacle, cancel: &CancellationToken) -> Event {
        match obstacle {
            Obstacle::Contender(predecessor) => self.wait_for(&predecessor, cancel).await,
            Obstacle::Anyone => self.wait_for_anyone(cancel).await,
        }
    }

    async fn wait_for(&mut self, predecessor: &str, cancel: &CancellationToken) -> Event {
        let path = self.path.child(predecessor);
        let watch = match self.session.ops().watch(Subject::Predecessor, &path).await {
            Ok(Some(watch)) => watch,
            Ok(None) => return self.wait_unwatched(predecessor, cancel).await,
            Err(Fault::NoNode) => return Event::PredecessorGone,
            Err(fault) => return self.failed(fault),
        };
        let own = self.machine.node().map(|node| self.path.child(&node.name));
        let (session, absence) = (&self.session, &mut self.absence);
        let expelled = async {
            if absence.is_none() {
                // Most waits are short. Only a long one spends a request on detecting that an outsider
                // deleted the own node.
                sleep(PATIENCE).await;
                *absence = own.map(|own| -> Absence { Box::pin(presence::gone(session.clone(), own)) });
            }
            match absence {
                // The watch outlives this wait, because dropping it would cost a request to remove it.
                Some(absent) => absent.await,
                None => std::future::pending().await,
            }
            *absence = None;
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Event::Cancel,
            () = session.over() => Event::SessionLost,
            () = watch.changed() => Event::PredecessorGone,
            () = expelled => Event::OwnNodeGone,
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
                Some(counter) => counter.changed(&self.session).await,
                None => std::future::pending().await,
            }
        };
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => return Event::Cancel,
            () = self.session.over() => return Event::SessionLost,
            () = changed => return Event::PredecessorGone,
            outcome = recounted => outcome,
        };
        match (outcome, &self.counter) {
            (Ok(count), _) => Event::Permits(count),
            (Err(fault), Some(counter)) => {
                let path = counter.path().relative().to_owned();
                self.failed_at(&path, fault)
            }
            (Err(fault), None) => self.failed(fault),
        }
    }
}

/// The interval at which a contender lists children for which there is no room for a watch.
const INTERVAL: Duration = Duration::from_secs(1);
/// The time that a contender waits before it watches its own node as well.
const PATIENCE: Duration = Duration::from_secs(1);
