//! Lists the locks below a path, with those of other clients.
//!
//! A survey is for people and dashboards. It never takes part in a lock, sets no watch, and has only few requests under
//! way at a time. They are not counted among those of acquisitions, and do not wait for them.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::client::Client;
use crate::error::LockError;
use crate::mode::{LockKind, Mode};
use crate::participant::{self, Participant, Place, Queue};
use crate::path::NodePath;
use crate::queue::contender::{Contender, is_numbered};
use crate::queue::predicate::{GATE, LEASES, Predicate};
use crate::session::Session;
use crate::session::request_error::RequestError;
use crate::session::requests::Requests;

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

/// A lock that is held or waited for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SurveyedLock {
    /// Its path below the client's namespace.
    pub path: String,
    /// Its kind.
    pub kind: LockKind,
    /// The number of places in its queue that hold it. If a semaphore's node states no number, as with Curator or
    /// with a shared number, all contenders behind the gate count.
    pub holding: u32,
    /// The number of places in its queue that wait. The calls of one client share a place; see
    /// [`Participant::waiting_here`].
    pub waiting: u32,
    /// The first of its participants, holders before waiters, up to the bound of the survey. Some may have left between
    /// the requests, and some may have an ACL that keeps this client from reading them.
    pub participants: Vec<Participant>,
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
        let top = NodePath::or_root(self.worker().root(), path.as_ref())?;
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

    /// Lists the locks. At most 64 requests are under way: eight for each of eight nodes, or 64 for the one node of a
    /// survey of depth zero. After a broken connection, they are repeated.
    ///
    /// A node costs one request, one with children two, a semaphore five to seven more, and a lock one more for
    /// each participant that is described. A node with more than 10,000 children is left out, and so is a semaphore
    /// with more than 10,000 nodes in a queue.
    ///
    /// # Errors
    ///
    /// * [`LockError::Timeout`] if the servers do not answer the requests for one node within the client's default wait.
    /// * [`LockError::AuthFailed`], [`LockError::Tls`], [`LockError::InvalidConfig`] if no session can be opened.
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
            let (found, below) = visited?;
            surveyed.locks.extend(found.locks);
            surveyed.denied = surveyed.denied.or(found.denied);
            surveyed.left_out += found.left_out;
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

    /// Returns the locks that a node is, and its children that may be others.
    async fn look(&self, node: NodePath) -> Result<(Surveyed, Vec<String>), LockError> {
        // One node alone has the requests of all.
        let at_a_time = if self.depth == 0 { AT_A_TIME * READS_AT_A_TIME } else { READS_AT_A_TIME };
        let bounds = Bounds { participants: self.participants as usize, at_a_time };
        let about = node.clone();
        let request = move |session: Arc<Session>| {
            let (node, mut found) = (about.clone(), Surveyed::default());
            async move {
                let below = found.read(session.requests(), &node, bounds).await;
                below.map(|below| (found, below)).map_err(|error| error.into_error(&node.to_string()))
            }
        };
        match self.client.worker().ask_until_answered(&node, request).await {
            Err(denied @ LockError::Denied { .. }) => {
                Ok((Surveyed { left_out: 1, denied: Some(denied), ..Surveyed::default() }, Vec::new()))
            }
            found => found,
        }
    }
}

/// The bounds on what is asked about one lock.
#[derive(Clone, Copy)]
struct Bounds {
    participants: usize,
    at_a_time: usize,
}

impl Surveyed {
    /// Adds the locks that a node is. Returns its children that may be others.
    async fn read(
        &mut self,
        requests: &Requests,
        node: &NodePath,
        bounds: Bounds,
    ) -> Result<Vec<String>, RequestError> {
        let dir = if node.full().is_empty() { "/" } else { node.full() };
        let children = requests.stat(dir).await?.map_or(0, |stat| stat.num_children);
        if children > LONGEST {
            self.left_out += 1;
        }
        let is_read = (1..=LONGEST).contains(&children);
        let names = if is_read { requests.names(dir).await? } else { Vec::new() };
        let is_semaphore = is_semaphore(&names);
        let mut queue = Queue::read(node, &names, &KAZOO.map(str::to_owned), Predicate::place);
        if let Some(kind) = kind(&mut queue.places) {
            self.add(requests, (node, kind), &[queue], bounds).await?;
        }
        if is_semaphore {
            self.read_semaphore(requests, node, bounds).await?;
        }
        let mut below = below(&names, is_semaphore);
        below.retain(|name| !node.below(name).is_reserved());
        Ok(below)
    }

    async fn read_semaphore(
        &mut self,
        requests: &Requests,
        node: &NodePath,
        bounds: Bounds,
    ) -> Result<(), RequestError> {
        for queue in [LEASES, GATE] {
            let stat = requests.stat(node.below(queue).full()).await?;
            if stat.is_some_and(|stat| stat.num_children > LONGEST) {
                self.left_out += 1;
                return Ok(());
            }
        }
        let stated = requests.read(node.full()).await?.map(|read| read.data).unwrap_or_default();
        // Curator states no number. A shared one is in another node. All permits count as held then.
        let of = std::str::from_utf8(&stated).ok().and_then(|text| text.parse().ok()).unwrap_or(u32::MAX);
        let queues = participant::semaphore(requests, node, (of, Mode::Permit)).await?;
        if queues.iter().any(|queue| !queue.places.is_empty()) {
            self.add(requests, (node, LockKind::Semaphore), &queues, bounds).await?;
        }
        Ok(())
    }

    /// Counts the places of a lock's queues, and describes the first of them.
    async fn add(
        &mut self,
        requests: &Requests,
        (node, kind): (&NodePath, LockKind),
        queues: &[Queue],
        bounds: Bounds,
    ) -> Result<(), RequestError> {
        let count = |holds: bool| {
            let places = queues.iter().flat_map(|queue| &queue.places);
            u32::try_from(places.filter(|place| place.holds == holds).count()).unwrap_or(u32::MAX)
        };
        let (mut participants, mut left) = (Vec::new(), bounds.participants);
        for queue in queues {
            let shown = &queue.places[..queue.places.len().min(left)];
            left -= shown.len();
            let mut described = pin!(queue.describe(requests, shown, bounds.at_a_time));
            while let Some(described) = described.next().await {
                match described {
                    // It has an ACL of its own. It is counted all the same.
                    Err(error @ RequestError::Denied(_)) => {
                        self.denied.get_or_insert_with(|| error.into_error(&node.to_string()));
                    }
                    described => participants.extend(described?),
                }
            }
        }
        let (path, holding, waiting) = (node.to_string(), count(true), count(false));
        self.locks.push(SurveyedLock { path, kind, holding, waiting, participants });
        Ok(())
    }
}

fn is_semaphore(names: &[String]) -> bool {
    [GATE, LEASES].iter().all(|own| names.iter().any(|name| name == own))
}

/// Returns the children that may be locks, or have locks below them.
fn below(names: &[String], is_semaphore: bool) -> Vec<String> {
    let is_own = |name: &str| is_semaphore && (name == GATE || name == LEASES);
    names.iter().filter(|name| !is_numbered(name) && !is_own(name)).cloned().collect()
}

/// Returns the kind of lock that has this queue, and sets the modes that follow. The first contender determines it. kazoo's
/// writers have no other name than its mutexes.
fn kind(places: &mut [Place]) -> Option<LockKind> {
    let first = places.first()?;
    let is_own = Contender::parse(&first.name).is_some();
    let has_readers = places.iter().any(|place| place.mode == Mode::Read);
    let mode = match first.mode {
        Mode::Write if !is_own && !has_readers => Mode::Exclusive,
        mode => mode,
    };
    // The names of kazoo's contenders tell only whether they read.
    if matches!(mode, Mode::Exclusive | Mode::Permit) {
        places.iter_mut().for_each(|place| place.mode = mode);
    }
    Some(mode.kind())
}

/// The texts in front of the sequences of kazoo's contenders.
const KAZOO: [&str; 2] = ["__lock__", "__rlock__"];
const NODES: u32 = 10_000;
const DEPTH: u32 = 16;
/// The most nodes that are looked at at a time.
const AT_A_TIME: usize = 8;
/// The most children of a node that are listed: an answer must not be so large that others wait behind it.
const LONGEST: i32 = 10_000;
/// The most participants of a lock that are asked for at a time, if several nodes are looked at.
const READS_AT_A_TIME: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn places(names: &[&str]) -> Vec<Place> {
        let path = NodePath::new("", "/a").unwrap();
        Queue::read(&path, &owned(names), &KAZOO.map(str::to_owned), Predicate::place).places
    }

    #[test]
    fn the_names_of_kazoos_contenders_tell_the_kind_of_their_lock() {
        assert_eq!(kind(&mut places(&["0f__lock__0000000000"])), Some(LockKind::Mutex));
        let mut both = places(&["0f__lock__0000000000", "0e__rlock__0000000001"]);
        assert_eq!(kind(&mut both), Some(LockKind::RwLock));
        assert_eq!(kind(&mut places(&["orders", "locks"])), None);
    }

    #[test]
    fn contenders_and_the_parts_of_a_semaphore_are_not_looked_into() {
        let names = owned(&["x-lock-0000000001", "orders", "locks", "leases", "member-0000000004"]);
        assert!(is_semaphore(&names));
        assert_eq!(below(&names, true), ["orders"]);
        let names = owned(&["locks", "orders"]);
        assert!(!is_semaphore(&names));
        assert_eq!(below(&names, false), ["locks", "orders"]);
    }
}
