//! Withdraws a contender after a release, a cancelled attempt or a dropped guard, and downgrades a writer.
//!
//! The caller abandons its contender by dropping its end of a channel, which needs no runtime and
//! cannot fail. The task that drives the contender then withdraws it here, on the client's own thread.
//! It retries every request whose outcome is unknown until the node is gone or the session ends.

use tokio_util::sync::CancellationToken;

use crate::error::LockError;
use crate::queue::acquisition::{Action, End, Event, Node};

use super::drive::{Driver, Outcome};

/// The reason why a downgrade did not take place.
pub(crate) enum Undone {
    /// An outsider deleted the writer's node.
    Gone,
    SessionOver,
    /// The server refused the downgrade, and the writer's node is unchanged.
    Refused(LockError),
}

impl Driver {
    /// Replaces the writer's node with a reader's node, and returns the reader's node.
    pub(crate) async fn downgrade(&mut self) -> Result<Node, Undone> {
        self.feed(Event::Downgrade).await;
        loop {
            match self.action.clone() {
                Action::Downgrade(replacement) => {
                    let session = self.session.clone();
                    let permit = session.bounds().requests(1).await;
                    let outcome = self.replace(replacement).await;
                    drop(permit);
                    match outcome {
                        // Not fed to the state machine, which would enter the queue again. The
                        // withdrawal that follows deletes both nodes.
                        Event::OwnNodeGone => return Err(Undone::Gone),
                        outcome => self.feed(outcome).await,
                    }
                }
                Action::Hold(node) => {
                    return match self.refusal.take() {
                        Some(refusal) => Err(Undone::Refused(refusal)),
                        None => {
                            // The watches were those of the other node, and have fired with its deletion.
                            self.children = None;
                            Ok(node)
                        }
                    };
                }
                _ => return Err(Undone::SessionOver),
            }
        }
    }

    /// Withdraws the contender. Returns once it is gone, its session has ended, or the server
    /// refuses to delete it.
    pub(crate) async fn withdraw(&mut self) -> End {
        self.step(Event::Cancel);
        // No request is under way here, so the pending action can be skipped.
        self.step(Event::Skipped);
        loop {
            match self.action.clone() {
                Action::Finish(end) => {
                    if let (End::Abandoned, Some(refusal)) = (end, &self.refusal) {
                        tracing::warn!(%refusal, "a contender stays until its session ends");
                    }
                    return end;
                }
                // A cancelled state machine neither waits nor holds.
                Action::Hold(_) | Action::Watch(_) => self.feed(Event::Cancel).await,
                _ => self.proceed(&CancellationToken::new()).await,
            }
        }
    }

    /// Withdraws the contender of an attempt that ends with `outcome`, and returns the attempt's
    /// final outcome.
    ///
    /// The final outcome is `SessionLost` if the session ends first, and a refusal replaces `Contended`.
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

    /// Takes the error of a request that the server refused, if there was one.
    pub(crate) fn refusal(&mut self) -> Option<LockError> {
        self.refusal.take()
    }
}
