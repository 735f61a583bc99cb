//! The requests for one node of a survey.

use std::sync::Arc;
use std::time::Duration;

use tokio::join;
use tokio::time::sleep;

use crate::client::worker::Worker;
use crate::error::LockError;
use crate::participant::{Participant, Standing};
use crate::path::NodePath;
use crate::queue::claim::{Claim, GATE, LEASES, Role};
use crate::session::Session;
use crate::session::fault::Fault;
use crate::session::ops::Ops;

use super::lock::{LockKind, SurveyedLock};
use super::reading::{Place, Queue, Reading};

/// How closely a node is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detail {
    /// The most children that are listed.
    pub(super) longest: u32,
    /// The most participants of a lock that are described.
    pub(super) participants: u32,
}

/// The locks that a node is, and its children that may be others.
#[derive(Debug, Default)]
pub(super) struct Visited {
    pub(super) locks: Vec<SurveyedLock>,
    pub(super) below: Vec<String>,
    pub(super) left_out: u64,
    /// The first refusal to read the node or a participant.
    pub(super) denied: Option<LockError>,
}

/// A lock, and the first refusal to read one of its participants.
type Found = (SurveyedLock, Option<LockError>);

/// Looks at one node, again and again until the servers answer. The caller bounds the time.
pub(super) async fn look(worker: Arc<Worker>, node: NodePath, detail: Detail) -> Result<Visited, LockError> {
    loop {
        let session = worker.session(&node, worker.closing()).await?;
        match visit(&session, &node, detail).await {
            Ok(visited) => return Ok(visited),
            Err(Fault::Unknown(_) | Fault::SessionOver) => sleep(PAUSE).await,
            Err(denied @ Fault::Denied(_)) => {
                let denied = Some(denied.into_error(&shown_path(&node)));
                return Ok(Visited { left_out: 1, denied, ..Visited::default() });
            }
            Err(refused) => return Err(refused.into_error(&shown_path(&node))),
        }
    }
}

async fn visit(session: &Session, node: &NodePath, detail: Detail) -> Result<Visited, Fault> {
    let ops = session.ops();
    let dir = if node.full().is_empty() { "/" } else { node.full() };
    let children = ops.children_of(dir).await?.unwrap_or_default();
    if children > detail.longest {
        return Ok(Visited { left_out: 1, ..Visited::default() });
    }
    if children == 0 {
        return Ok(Visited::default());
    }
    let Reading { queue, is_semaphore, mut below } = Reading::of(&names(ops, dir).await?);
    below.retain(|name| !node.below(name).is_reserved());
    let mut found = Vec::new();
    if let Some(queue) = queue {
        found.push(lock(ops, node, queue.kind, vec![(node.clone(), queue.places)], detail).await?);
    }
    let is_too_long = is_semaphore && has_long_queue(ops, node, detail).await?;
    if is_semaphore && !is_too_long {
        found.extend(semaphore(ops, node, detail).await?);
    }
    let (locks, denied): (_, Vec<_>) = found.into_iter().unzip();
    let denied = denied.into_iter().flatten().next();
    Ok(Visited { locks, below, left_out: u64::from(is_too_long), denied })
}

/// Tells whether a queue of a semaphore has more nodes than are listed.
async fn has_long_queue(ops: &Ops, node: &NodePath, detail: Detail) -> Result<bool, Fault> {
    for queue in [LEASES, GATE] {
        if ops.children_of(node.below(queue).full()).await?.unwrap_or_default() > detail.longest {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Looks at the two queues of a semaphore.
async fn semaphore(ops: &Ops, node: &NodePath, detail: Detail) -> Result<Option<Found>, Fault> {
    let (leases, gate) = (node.below(LEASES), node.below(GATE));
    let stated = ops.read(node.full()).await?.map(|read| read.data).unwrap_or_default();
    // Curator states no number. A shared one is in another node. All permits count as held then.
    let of = std::str::from_utf8(&stated).ok().and_then(|text| text.parse().ok()).unwrap_or(u32::MAX);
    let permit = |_: Role| Claim::Permit { of };
    let permits = Queue::of(&names(ops, leases.full()).await?, permit);
    let waiters = Queue::of(&names(ops, gate.full()).await?, Claim::place);
    let permits = permits.map(|queue| queue.places).unwrap_or_default();
    let mut waiters = waiters.map(|queue| queue.places).unwrap_or_default();
    // The contender that has passed the gate has a node in both queues while it waits for a permit. It may have left the
    // gate between the two lists.
    if let (Some(inside), Some(first)) = (permits.last().filter(|last| !last.holds), waiters.first()) {
        let (inside, first) = (leases.child(&inside.name), gate.child(&first.name));
        let (inside, first) = join!(ops.owner_here(&inside), ops.owner_here(&first));
        if first?.is_some_and(|first| inside.is_ok_and(|inside| inside == Some(first))) {
            waiters.remove(0);
        }
    }
    waiters.iter_mut().for_each(|waiter| waiter.holds = false);
    if permits.is_empty() && waiters.is_empty() {
        return Ok(None);
    }
    lock(ops, node, LockKind::Semaphore, vec![(leases, permits), (gate, waiters)], detail).await.map(Some)
}

/// Counts the places of a lock's queues, and describes the first of them.
async fn lock(
    ops: &Ops,
    node: &NodePath,
    kind: LockKind,
    queues: Vec<(NodePath, Vec<Place>)>,
    detail: Detail,
) -> Result<Found, Fault> {
    let places = || queues.iter().flat_map(|(_, places)| places);
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let holding = count(places().filter(|place| place.holds).count());
    let waiting = count(places().filter(|place| !place.holds).count());
    let (mut participants, mut left, mut denied) = (Vec::new(), detail.participants as usize, None);
    for (queue, places) in queues {
        let shown: Vec<_> = places.into_iter().take(left).collect();
        left -= shown.len();
        for some in shown.chunks(AT_A_TIME) {
            let names = some.iter().map(|place| place.name.clone());
            let described = match ops.describe_each(queue.full(), names).await {
                // One of them has an ACL of its own. They are counted all the same.
                Err(fault @ Fault::Denied(_)) => {
                    denied.get_or_insert_with(|| fault.into_error(&shown_path(node)));
                    continue;
                }
                described => described?,
            };
            for described in described {
                let Some(place) = some.iter().find(|place| place.name == described.name) else { continue };
                let standing = if place.holds { Standing::Holds } else { Standing::Waits };
                participants.push(Participant::new(&queue, role_in(kind, place.role), standing, described));
            }
        }
    }
    Ok((SurveyedLock { path: shown_path(node), kind, holding, waiting, participants }, denied))
}

/// The role of a contender, whose name may be that of another library. kazoo's mutexes have the names of its writers.
fn role_in(kind: LockKind, role: Role) -> Role {
    match kind {
        LockKind::Mutex => Role::Exclusive,
        LockKind::Semaphore => Role::Permit,
        LockKind::RwLock | LockKind::Election => role,
    }
}

/// The path of a lock. The namespace itself can be one of other libraries.
fn shown_path(node: &NodePath) -> String {
    if node.relative().is_empty() { "/".to_owned() } else { node.relative().to_owned() }
}

/// Lists the children of a node, which may be gone.
async fn names(ops: &Ops, dir: &str) -> Result<Vec<String>, Fault> {
    match ops.names(dir).await {
        Err(Fault::NoNode) => Ok(Vec::new()),
        listed => listed,
    }
}

/// The most participants of a lock that are asked for at a time.
const AT_A_TIME: usize = 8;
/// The pause after requests without an answer.
const PAUSE: Duration = Duration::from_millis(50);
