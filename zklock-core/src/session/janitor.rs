//! Withdraws contenders: the same for a release, a cancelled attempt and a guard that was dropped.
//!
//! Whoever does not want its contender any more only says so, by dropping its end of a channel; that
//! needs no runtime and cannot fail. The task that drives the contender then withdraws it here, on the
//! client's own thread, and retries every unknown outcome until the node is gone or the session ended.

use crate::error::LockError;
use crate::queue::acquisition::{Action, End, Event, Node};

use super::drive::{Driver, Outcome};

/// Why a downgrade did not take place.
pub(crate) enum Undone {
    /// Somebody else deleted the writer's node.
    Gone,
    SessionOver,
    /// The writer's node is what it was.
    Refused(LockError),
}

impl Driver {
    /// Puts a reader's node in the place of the writer's, and returns it.
    pub(crate) async fn downgrade(&mut self) -> Result<Node, Undone> {
        self.feed(Event::Downgrade).await;
        loop {
            match self.action.clone() {
                Action::Downgrade(replacement) => match self.replace(replacement).await {
                    // The machine would enter the queue again; the withdrawal that follows sweeps instead.
                    Event::OwnNodeGone => return Err(Undone::Gone),
                    outcome => self.feed(outcome).await,
                },
                Action::Hold(node) => {
                    return match self.refusal.take() {
                        Some(refusal) => Err(Undone::Refused(refusal)),
                        None => Ok(node),
                    };
                }
                _ => return Err(Undone::SessionOver),
            }
        }
    }

    /// Withdraws the contender; returns once it is gone, its session ended, or the server denies it.
    pub(crate) async fn withdraw(&mut self) -> End {
        self.feed(Event::Cancel).await;
        // Nothing is under way here, so what was to come next need not.
        self.feed(Event::Skipped).await;
        loop {
            match self.action.clone() {
                Action::Finish(end) => {
                    if let (End::Abandoned, Some(refusal)) = (end, &self.refusal) {
                        tracing::warn!(%refusal, "a contender stays until its session ends");
                    }
                    return end;
                }
                // A cancelled machine neither waits nor holds.
                Action::Hold(_) | Action::Watch(_) => self.feed(Event::Cancel).await,
                request => self.request(request).await,
            }
        }
    }

    /// Withdraws the contender of an attempt that ends with `outcome`, unless its session ends first.
    pub(super) async fn leave(&mut self, outcome: Outcome) -> Outcome {
        match self.withdraw().await {
            End::Lost => Outcome::SessionLost,
            End::Withdrawn | End::Unnumbered | End::Mixed(_) | End::Abandoned => {
                match (self.refusal(), outcome) {
                    (Some(refusal), Outcome::Contended) => Outcome::Refused(refusal),
                    (_, outcome) => outcome,
                }
            }
        }
    }

    /// Takes the reason for which the server refused a request, if it did.
    pub(crate) fn refusal(&mut self) -> Option<LockError> {
        self.refusal.take()
    }
}
