//! Lists the locks below a path, whoever uses them.
//!
//! Uses the floors below: `participant`, `client`, `session`, `queue`, `path` and `error`.
//!
//! A survey is for people and dashboards. It never takes part in a lock, sets no watch, and has only few requests under
//! way at a time. They are not counted among those of acquisitions, and do not wait for them.
//!
//! * [`lock`]: a lock that was found.
//! * [`reading`]: the kind of lock that a node is, from the names of its children, as a pure function.
//! * [`visit`]: the requests for one node.

mod lock;
mod reading;
mod visit;

use std::collections::VecDeque;

use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::client::Client;
use crate::error::LockError;
use crate::path::NodePath;

use self::visit::{Detail, Visited, look};

pub use self::lock::{LockKind, SurveyedLock};

/// The locks below a path, before they are listed.
///
/// The bounds keep a survey of a large tree from being a burden: nodes beyond them are left out, and
/// [`Surveyed::left_out`] counts them.
///
/// # Examples
///
/// ```no_run
/// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
/// let surveyed = client.survey("/orders")?.participants(2).take().await?;
/// for lock in &surveyed.locks {
///     println!("{} is {}: {} hold it, {} wait", lock.path, lock.kind, lock.holding, lock.waiting);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Survey {
    client: Client,
    top: NodePath,
    nodes: u32,
    depth: u32,
    participants: u32,
}

/// The locks that a survey found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Surveyed {
    /// The locks that are held or waited for, in the order of their paths.
    pub locks: Vec<SurveyedLock>,
    /// The number of nodes that were not looked at, because they are beyond the bounds or this client may not read
    /// them. There may be more below them.
    pub left_out: u64,
    /// The first refusal to read a node or a participant: a [`LockError::Denied`] with its path.
    pub denied: Option<LockError>,
}

impl Client {
    /// Returns a survey of the locks at `path` and below it, those of Curator and kazoo included. `/` is the namespace
    /// of the client.
    ///
    /// No request is sent.
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex), except that `/` is valid.
    pub fn survey(&self, path: impl AsRef<str>) -> Result<Survey, LockError> {
        let top = NodePath::top(self.worker().root(), path.as_ref())?;
        Ok(Survey { client: self.clone(), top, nodes: NODES, depth: DEPTH, participants: 1 })
    }
}

impl Survey {
    /// Sets how many nodes are looked at, 10,000 by default.
    #[must_use]
    pub fn nodes(self, nodes: u32) -> Self {
        Self { nodes, ..self }
    }

    /// Sets how many levels below the path are looked at, 16 by default. With zero, it is the lock at the path alone.
    #[must_use]
    pub fn depth(self, depth: u32) -> Self {
        Self { depth, ..self }
    }

    /// Sets how many participants of each lock are described, 1 by default. Each costs a request.
    #[must_use]
    pub fn participants(self, participants: u32) -> Self {
        Self { participants, ..self }
    }

    /// Lists the locks. At most 64 requests are under way: for 8 nodes, and up to 8 for each. After a broken connection,
    /// they are repeated.
    ///
    /// A node costs one request, one with children two, a semaphore five more, and a lock one more for each participant
    /// that is described. A node with more than 10,000 children is left out, and so is a semaphore with more than 10,000
    /// nodes in a queue.
    ///
    /// # Errors
    ///
    /// * [`LockError::Timeout`] if the servers do not answer the requests for one node within the client's default wait.
    /// * [`LockError::AuthFailed`] if the servers refuse the credentials.
    /// * [`LockError::Refused`] if the servers refuse a request for another reason than its permissions.
    /// * [`LockError::Closed`] if the client is shut down.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn take(&self) -> Result<Surveyed, LockError> {
        let mut surveyed = Surveyed::default();
        let mut open = VecDeque::from([(self.top.clone(), 0)]);
        let (mut visits, mut left) = (FuturesUnordered::new(), self.nodes);
        loop {
            while visits.len() < AT_A_TIME && left > 0 {
                let Some((node, depth)) = open.pop_front() else { break };
                left -= 1;
                visits.push(async move { (self.look(node.clone()).await, node, depth) });
            }
            let Some((visited, node, depth)) = visits.next().await else { break };
            let Visited { locks, below, left_out, denied } = visited?;
            surveyed.locks.extend(locks);
            surveyed.denied = surveyed.denied.or(denied);
            surveyed.left_out += left_out;
            if depth < self.depth {
                // Nodes beyond the bound would only take memory.
                let room = (left as usize).saturating_sub(open.len());
                surveyed.left_out += below.len().saturating_sub(room) as u64;
                open.extend(below.into_iter().take(room).map(|name| (node.below(&name), depth + 1)));
            } else if self.depth > 0 {
                surveyed.left_out += below.len() as u64;
            }
        }
        surveyed.left_out += open.len() as u64;
        surveyed.locks.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(surveyed)
    }

    async fn look(&self, node: NodePath) -> Result<Visited, LockError> {
        let detail = Detail { longest: LONGEST, participants: self.participants };
        let (worker, within) = (self.client.worker(), self.client.default_wait());
        let answer = worker.call(within, look(worker.clone(), node.clone(), detail)).await;
        answer.unwrap_or_else(|unanswered| Err(unanswered.into_error(&node, within)))
    }
}

const NODES: u32 = 10_000;
const DEPTH: u32 = 16;
/// The most nodes that are looked at at a time.
const AT_A_TIME: usize = 8;
/// The most children of a node that are listed: an answer must not be so large that others wait behind it.
const LONGEST: u32 = 10_000;
