//! Verifies many nodes at once.

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::Either;
use futures_util::stream::{self, FuturesOrdered, StreamExt};
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::queue::contender::Name;
use crate::session::charge::Charge;
use crate::session::fault::Fault;
use crate::session::notice::{OWN_INTERVAL, size_on_the_wire};
use crate::session::present::{AT_A_TIME, Present};
use crate::session::{Ownership, Session};

use super::portions::{Portion, divide};

/// A lock, and the name of its node that the servers are asked for.
type Asked = (Arc<dyn Charge>, Name);

impl Session {
    /// Verifies the leases that are not known to be valid in this epoch.
    pub(super) async fn verify_all(&self, charges: &[Arc<dyn Charge>], epoch: u64) {
        if charges.iter().all(|charge| charge.epoch() >= epoch) {
            return;
        }
        let mut portions = divide(charges.to_vec()).await;
        portions.iter_mut().for_each(|portion| portion.locks.retain(|lock| lock.epoch() < epoch));
        let verified = match &*portions {
            // Contenders have the same question, and share the answer.
            [portion] => self.ask_each(asked_of(&portion.locks), Question::Owner, epoch).await,
            portions => self.verify_each(portions, epoch).await,
        };
        // The next epoch has questions of its own.
        if verified.is_err() && self.link().epoch == epoch {
            sleep(PAUSE).await;
            self.ward.change(|roster| roster.doubt());
        }
    }

    /// Verifies the leases of each portion, until the connection breaks. Returns the first fault.
    async fn verify_each(&self, portions: &[Portion], epoch: u64) -> Result<(), Fault> {
        let mut outcome = Ok(());
        let portions: Vec<_> = portions.iter().filter(|portion| !portion.locks.is_empty()).collect();
        // The server answers in order, and has caught up when it answers the first question.
        let questions: Vec<_> = portions
            .iter()
            .enumerate()
            .map(|(number, portion)| match number {
                0 => Either::Left(self.roll.below(self.ops(), portion.question())),
                _ => Either::Right(self.roll.here_below(self.ops(), portion.question())),
            })
            .collect();
        let mut lists = pin!(stream::iter(questions).buffered(LISTS));
        for portion in portions {
            let Some(list) = lists.next().await else { break };
            if let Err(Fault::SessionOver) = list {
                self.give_up();
            }
            // Without the first answer, the server may not have caught up.
            outcome = outcome.and(self.verify(&portion.locks, list?, epoch).await);
            if self.is_broken(&outcome, epoch) {
                break;
            }
        }
        outcome
    }

    /// Verifies the leases of some locks by a list of the session's nodes. Returns the first fault.
    async fn verify(
        &self,
        locks: &[Arc<dyn Charge>],
        list: Option<Vec<String>>,
        epoch: u64,
    ) -> Result<(), Fault> {
        let Some(nodes) = list else {
            return self.ask_each(asked_of(locks), Question::Owner, epoch).await;
        };
        let note = |charge: &dyn Charge| charge.conclude(Ownership::Ours, epoch);
        self.ask_each(missing(locks, nodes, note).await, Question::Missed, epoch).await
    }

    /// Asks for the nodes that are not watched, again and again. Each call of the roll takes one request for each portion
    /// of the nodes.
    pub(super) async fn call_roll(&self) -> Infallible {
        let mut pause = OWN_INTERVAL;
        loop {
            self.ward.until(|roster| roster.has_unwatched()).await;
            sleep(pause).await;
            let unwatched = self.ward.roster().unwatched();
            let portions: Vec<_> = divide(unwatched).await.into_iter().map(Portion::downgrade).collect();
            let share = share(portions.len());
            let mut rest = portions.into_iter().peekable();
            while let Some((question, locks)) = rest.next() {
                pause = share.max(self.call_portion(&question, locks).await);
                if rest.peek().is_some() {
                    sleep(pause).await;
                }
            }
            self.ward.change(|roster| roster.retry(AT_A_TIME));
        }
    }

    /// Asks for the nodes of these locks, whose paths begin with this. Returns the shortest pause after that.
    async fn call_portion(&self, question: &str, locks: Vec<Weak<dyn Charge>>) -> Duration {
        let locks: Vec<_> = locks.iter().filter_map(Weak::upgrade).collect();
        let mut pause = Duration::ZERO;
        if locks.is_empty() {
            return pause;
        }
        let epoch = self.link().epoch;
        // The next call repeats the questions that fail.
        match self.roll.here_below(self.ops(), question).await {
            Ok(Some(nodes)) => {
                pause = pause_after(&nodes);
                let missing = missing(&locks, nodes, |_| {}).await;
                self.ask_each(missing, Question::Missed, epoch).await.ok();
            }
            Ok(None) => drop(self.ask_each(asked_of(&locks), Question::Presence, epoch).await),
            Err(Fault::SessionOver) => pending().await,
            Err(_) => {}
        }
        pause
    }

    /// Asks for each node, until the connection breaks. Returns the first fault.
    async fn ask_each(&self, asked: Vec<Asked>, question: Question, epoch: u64) -> Result<(), Fault> {
        let mut outcome = Ok(());
        let mut parts = asked.chunks(QUESTIONS).peekable();
        while let Some(some) = parts.next() {
            // Created before the questions, whose time is a part of the pause.
            let pause = sleep(PACE);
            outcome = outcome.and(self.ask_together(some, question, epoch).await);
            if self.is_broken(&outcome, epoch) {
                break;
            }
            if parts.peek().is_some() && !self.roll.is_known() {
                pause.await;
            }
        }
        outcome
    }

    fn is_broken(&self, outcome: &Result<(), Fault>, epoch: u64) -> bool {
        matches!(outcome, Err(Fault::Unknown(_) | Fault::SessionOver)) || self.link().epoch != epoch
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
            Question::Presence if self.ops().stat(node).await?.is_some() => Ok(None),
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

fn asked_of(charges: &[Arc<dyn Charge>]) -> Vec<Asked> {
    charges.iter().filter_map(asked).collect()
}

/// Returns the locks whose nodes are not in the list, and takes note of the others.
async fn missing(charges: &[Arc<dyn Charge>], list: Vec<String>, note: impl Fn(&dyn Charge)) -> Vec<Asked> {
    let present = Present::of(list).await;
    let mut missing = Vec::new();
    for some in charges.chunks(AT_A_TIME) {
        for (charge, node) in some.iter().filter_map(asked) {
            if present.contains(&charge.path(&node)) {
                note(&*charge);
            } else {
                missing.push((charge, node));
            }
        }
        yield_now().await;
    }
    missing
}

/// The shortest pause after the question for one of these portions. There is none if all locks were released meanwhile.
fn share(portions: usize) -> Duration {
    let portions = u32::try_from(portions).unwrap_or(u32::MAX);
    OWN_INTERVAL.checked_div(portions).unwrap_or(OWN_INTERVAL).max(SHORTEST)
}

/// The shortest pause after an answer of this length, so that roll calls take a small part of a connection.
fn pause_after(nodes: &[String]) -> Duration {
    let bytes: usize = nodes.iter().map(|node| size_on_the_wire(node)).sum();
    Duration::from_secs_f64(bytes as f64 / BYTES_PER_SECOND)
}

/// The most questions for single nodes that are under way.
const QUESTIONS: usize = 50;
/// The most lists of nodes that are under way.
const LISTS: usize = 2;
/// The time between the first questions to servers without roll calls, and the next ones.
const PACE: Duration = Duration::from_millis(100);
/// The shortest pause between the questions for two portions.
const SHORTEST: Duration = Duration::from_secs(2);
const BYTES_PER_SECOND: f64 = 1_000_000.0;
/// The pause between attempts to verify leases.
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use crate::session::ward::Watch;
    use crate::session::warden::portions::tests::Lock;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn locks_that_are_all_released_before_a_roll_call_are_not_asked_for() {
        let session = Session::staged(1);
        let mut calls = pin!(session.call_roll());
        let lock: Arc<dyn Charge> = Arc::new(Lock("/a".into()));
        let key = session.next_key();
        session.enroll(key, lock.clone());
        session.ward.change(|roster| {
            roster.due(Instant::now());
            roster.note_unwatched(key, Watch::NoRoom)
        });
        assert!(session.ward.roster().has_unwatched());
        let released = async {
            sleep(OWN_INTERVAL / 2).await;
            session.dismiss(key);
            sleep(OWN_INTERVAL * 3).await;
        };
        tokio::select! {
            biased;
            never = &mut calls => match never {},
            () = released => {}
        }
        assert!(!session.is_over());
    }
}
