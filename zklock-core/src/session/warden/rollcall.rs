//! Verifies many nodes at once.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesOrdered, StreamExt};
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::queue::contender::Name;
use crate::session::charge::Charge;
use crate::session::fault::Fault;
use crate::session::notice::{OWN_INTERVAL, size_on_the_wire};
use crate::session::present::{AT_A_TIME, Present};
use crate::session::{Ownership, Session};

/// A lock, and the name of its node that the servers are asked for.
type Asked = (Arc<dyn Charge>, Name);

impl Session {
    /// Verifies the leases that are not known to be valid in this epoch.
    pub(super) async fn verify_all(&self, charges: &[Arc<dyn Charge>], epoch: u64) {
        let unverified = charges.iter().filter(|charge| charge.epoch() < epoch);
        let asked: Vec<_> = unverified.filter_map(asked).collect();
        if asked.is_empty() {
            return;
        }
        // The next epoch has questions of its own.
        if self.ask_each(asked, Question::Owner, epoch).await.is_err() && self.link().epoch == epoch {
            sleep(PAUSE).await;
            self.ward.change(|roster| roster.doubt());
        }
    }

    /// Asks for the nodes that are not watched, again and again. Each call of the roll takes two requests, whatever
    /// the number of nodes.
    pub(super) async fn call_roll(&self) -> Infallible {
        let mut pause = OWN_INTERVAL;
        loop {
            self.ward.until(|roster| roster.has_unwatched()).await;
            sleep(pause).await;
            let charges = self.ward.roster().unwatched();
            let epoch = self.link().epoch;
            match self.roll.fresh(self.ops()).await {
                Ok(Some(nodes)) => {
                    pause = OWN_INTERVAL.max(pause_after(&nodes));
                    let missing = missing(&charges, &Present::of(nodes).await).await;
                    // The next call repeats the questions that fail.
                    self.ask_each(missing, Question::Missed, epoch).await.ok();
                }
                Ok(None) => {
                    let asked = charges.iter().filter_map(asked).collect();
                    self.ask_each(asked, Question::Presence, epoch).await.ok();
                }
                Err(Fault::SessionOver) => return pending().await,
                Err(_) => {}
            }
            self.ward.change(|roster| roster.retry(AT_A_TIME));
        }
    }

    /// Asks for each node, until the connection breaks. Returns the first fault.
    async fn ask_each(&self, asked: Vec<Asked>, question: Question, epoch: u64) -> Result<(), Fault> {
        let mut outcome = Ok(());
        let mut parts = asked.chunks(QUESTIONS).peekable();
        while let Some(some) = parts.next() {
            // Created before the questions, whose time is a part of the pause.
            let pause = sleep(PACE);
            outcome = outcome.and(self.ask_together(some, question, epoch).await);
            let is_broken = matches!(outcome, Err(Fault::Unknown(_) | Fault::SessionOver));
            if is_broken || self.link().epoch != epoch {
                break;
            }
            if parts.peek().is_some() && !self.roll.is_known() {
                pause.await;
            }
        }
        outcome
    }

    /// Asks for some nodes at once, and tells each lock the owner, if it still has the node. Returns the first fault.
    async fn ask_together(&self, asked: &[Asked], question: Question, epoch: u64) -> Result<(), Fault> {
        let mut outcome = Ok(());
        let answers = asked
            .iter()
            .map(|(charge, node)| async move { self.ask(question, &charge.path(node), epoch).await });
        let mut answers: FuturesOrdered<_> = answers.collect();
        for (charge, node) in asked {
            let Some(answer) = answers.next().await else { break };
            match answer {
                Ok(Some(owner)) if charge.node().as_ref() == Some(node) => charge.conclude(owner, epoch),
                // There is no news, or it was released meanwhile, or has another node.
                Ok(_) => {}
                Err(Fault::SessionOver) => {
                    self.give_up();
                    return Err(Fault::SessionOver);
                }
                Err(fault) => outcome = outcome.and(Err(fault)),
            }
        }
        outcome
    }

    /// Returns the owner of a node, if it is not known yet.
    async fn ask(&self, question: Question, node: &str, epoch: u64) -> Result<Option<Ownership>, Fault> {
        match question {
            Question::Presence if self.ops().exists(node).await? => Ok(None),
            Question::Presence | Question::Owner => self.ownership(node, epoch).await.map(Some),
            Question::Missed => self.roll.missed(self.ops(), node).await.map(Some),
        }
    }
}

/// A question for one node.
#[derive(Clone, Copy)]
enum Question {
    /// Whether the node belongs to the session. The questions of an epoch share a roll call.
    Owner,
    /// Whether a node that was not in the answer to a roll call belongs to the session.
    Missed,
    /// Whether a node is there, at servers without roll calls. Only an absent one is asked for again.
    Presence,
}

fn asked(charge: &Arc<dyn Charge>) -> Option<Asked> {
    Some((charge.clone(), charge.node()?))
}

/// Returns the locks whose nodes are not among those of the session.
async fn missing(charges: &[Arc<dyn Charge>], present: &Present) -> Vec<Asked> {
    let mut missing = Vec::new();
    for some in charges.chunks(AT_A_TIME) {
        let asked = some.iter().filter_map(asked);
        missing.extend(asked.filter(|(charge, node)| !present.contains(&charge.path(node))));
        yield_now().await;
    }
    missing
}

/// The shortest pause after an answer of this length, so that roll calls take a small part of a connection.
fn pause_after(nodes: &[String]) -> Duration {
    let bytes: usize = nodes.iter().map(|node| size_on_the_wire(node)).sum();
    Duration::from_secs_f64(bytes as f64 / BYTES_PER_SECOND)
}

/// The most questions for single nodes that are under way.
const QUESTIONS: usize = 50;
/// The time between the first questions to servers without roll calls, and the next ones.
const PACE: Duration = Duration::from_millis(100);
const BYTES_PER_SECOND: f64 = 1_000_000.0;
/// The pause between attempts to verify leases.
const PAUSE: Duration = Duration::from_millis(100);
