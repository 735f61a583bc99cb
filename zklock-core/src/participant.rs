//! Lists the holders and waiters of a lock, and asks them to leave.
//!
//! Uses the floors below: `hold`, `cohort`, `acquire`, `client`, `lease`, `session`, `queue`, `path`, `mode`, `token`
//! and `error`.

mod request;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::acquire::{Count, Wanted};
use crate::client::Client;
use crate::client::worker::Worker;
use crate::cohort;
use crate::error::LockError;
use crate::hold::{Door, Entry};
use crate::mode::Mode;
use crate::path::NodePath;
use crate::queue::claim::{Claim, GATE, LEASES, Place, Role};
use crate::queue::contender::Contender;
use crate::queue::turn;
use crate::session::Session;
use crate::session::counter::Counter;
use crate::session::fault::Fault;
use crate::session::ops::Described;
use crate::token::FencingToken;

/// A contender for a lock, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Participant {
    /// The path of its queue below the client's namespace: the path of the lock, or for a semaphore a path
    /// below that.
    pub path: String,
    /// The name of its node in that queue.
    pub node: String,
    /// The data of its node. A client of zklock writes its [`Config::identity`](crate::Config::identity)
    /// there. A request to release replaces it by `__REVOKE__`.
    pub identity: String,
    /// The id of the session that owns its node. It is zero for a [persistent](Self::is_persistent) one.
    pub session_id: i64,
    /// The time at which it entered the queue, by the clock of the server.
    pub entered: SystemTime,
    /// The least token with which a call of its client holds the lock, or will hold it.
    ///
    /// For a downgraded writer it is that of the reader's node, whereas its guard keeps the token of the
    /// writer's.
    pub fencing_token: FencingToken,
    /// The way in which it holds the lock, or wants to.
    pub mode: Mode,
    /// Whether it holds the lock, according to the children that were listed.
    ///
    /// After the number of permits was lowered, holders of permits beyond that number are listed as waiting.
    pub standing: Standing,
    /// The number of this client's calls that wait in line for the lock, if the node is one of this client's.
    ///
    /// They need no nodes of their own; see [`Queueing`](crate::Queueing). Nodes that contend for them are listed
    /// nevertheless. It is `None` for the nodes of other clients, and for elections.
    pub waiting_here: Option<u32>,
}

/// Whether a participant holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// It is its turn, according to the children that were listed.
    Holds,
    /// It waits for others in front of it.
    Waits,
}

impl Participant {
    /// Returns whether its node is persistent. No session owns such a node, and it stays until somebody deletes it.
    pub fn is_persistent(&self) -> bool {
        self.session_id == 0
    }

    pub(crate) fn new(queue: &NodePath, role: Role, standing: Standing, described: Described) -> Self {
        let entered = Duration::from_millis(described.created_ms.try_into().unwrap_or_default());
        Self {
            path: queue.relative().to_owned(),
            node: described.name,
            identity: String::from_utf8_lossy(&described.data).into_owned(),
            session_id: described.owner,
            entered: SystemTime::UNIX_EPOCH + entered,
            fencing_token: FencingToken::new(described.zxid),
            mode: match role {
                Role::Exclusive => Mode::Exclusive,
                Role::Read => Mode::Read,
                Role::Write => Mode::Write,
                Role::Permit => Mode::Permit,
                Role::Latch => Mode::Leader,
            },
            standing,
            waiting_here: None,
        }
    }
}

/// Lists the participants, and tells how many calls of this client wait in line.
pub(crate) async fn list_with_line(client: &Client, door: &Door) -> Result<Vec<Participant>, LockError> {
    let mut participants = list(client.worker(), door).await?;
    let own = client.session_id().filter(|_| !matches!(door.wanted, Wanted::Office { .. }));
    let waiting = cohort::waiting(client, &door.path, &door.wanted);
    let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
    for participant in participants.iter_mut().filter(|one| Some(one.session_id) == own) {
        participant.waiting_here = Some(waiting);
    }
    Ok(participants)
}

pub(crate) async fn list(worker: &Arc<Worker>, door: &Door) -> Result<Vec<Participant>, LockError> {
    let within = worker.default_wait();
    let asked = ask(worker.clone(), door.clone());
    let answer = worker.call(within, asked).await;
    answer.unwrap_or_else(|unanswered| Err(unanswered.into_error(&door.path, within)))
}

async fn ask(worker: Arc<Worker>, door: Door) -> Result<Vec<Participant>, LockError> {
    loop {
        let session = worker.session(&door.path, worker.closing()).await?;
        let (listed, asked) = match &door.wanted {
            Wanted::Place(place) | Wanted::NextPlace(place) => {
                let claim = |role| place_of(role, place);
                (in_queue(&session, &door.path, door.strangers(), claim).await, &door.path)
            }
            Wanted::Permits(permits) => match count(&session, &permits.count).await {
                Ok(of) => {
                    let listed = in_semaphore(&session, &door.path, of).await;
                    let mode = mode_of(door.entry);
                    (listed.map(|participants| with_mode(participants, mode)), &door.path)
                }
                Err((fault, counter)) => (Err(fault), counter),
            },
            Wanted::Office { place, .. } => {
                let claim = |role| place_of(role, place);
                (in_queue(&session, &door.path, &[], claim).await, &door.path)
            }
        };
        match listed {
            Ok(participants) => return Ok(participants),
            Err(Fault::Unknown(_) | Fault::SessionOver) => tokio::time::sleep(PAUSE).await,
            Err(refused) => return Err(refused.into_error(asked.relative())),
        }
    }
}

/// The mode of a participant with a permit: the only permit of
/// [`Client::exclusive`](crate::Client::exclusive) is a mutex.
fn mode_of(entry: Entry) -> Mode {
    if entry == Entry::Sole { Mode::Exclusive } else { Mode::Permit }
}

fn with_mode(participants: Vec<Participant>, mode: Mode) -> Vec<Participant> {
    participants.into_iter().map(|participant| Participant { mode, ..participant }).collect()
}

/// The claim of a listed contender. The names that its own client also waits for are unknown; those of `ours`
/// are assumed.
fn place_of(role: Role, ours: &Place) -> Claim {
    Claim::Place(Place { role, also_behind: ours.also_behind.clone() })
}

/// Returns the number of permits, or a failure together with the path of the node that contains the number.
async fn count<'a>(session: &Session, count: &'a Count) -> Result<u32, (Fault, &'a NodePath)> {
    match count {
        Count::Agreed(of) => Ok(*of),
        Count::Shared { path, seed } => {
            let counter = Counter::new(path.clone(), *seed);
            counter.read(session.ops()).await.map_err(|fault| (fault, path))
        }
    }
}

/// Lists the holders of permits, and then the waiters at the gate.
async fn in_semaphore(session: &Session, path: &NodePath, of: u32) -> Result<Vec<Participant>, Fault> {
    let mut participants = in_queue(session, &path.below(LEASES), &[], |_| Claim::Permit { of }).await?;
    let mut gate = in_queue(session, &path.below(GATE), &[], Claim::place).await?;
    // The contender that has passed the gate has a node in both queues while it waits for permits.
    let inside = participants.last().filter(|last| last.standing == Standing::Waits);
    let inside = inside.map(|inside| inside.session_id);
    if gate.first().is_some_and(|first| Some(first.session_id) == inside) {
        gate.remove(0);
    }
    gate.iter_mut().for_each(|waiter| waiter.standing = Standing::Waits);
    participants.append(&mut gate);
    Ok(participants)
}

async fn in_queue(
    session: &Session,
    queue: &NodePath,
    strangers: &[String],
    claim: impl Fn(Role) -> Claim,
) -> Result<Vec<Participant>, Fault> {
    let is_contender = |name: &str| Contender::parse_any(name, strangers).is_some();
    let described = session.ops().describe(queue.full(), is_contender).await?;
    let names: Vec<_> = described.iter().map(|described| described.name.clone()).collect();
    let mut by_name: HashMap<_, _> =
        described.into_iter().map(|described| (described.name.clone(), described)).collect();
    let contenders = turn::in_order(&names, strangers);
    let holders = turn::holders(&contenders, claim);
    let participant = |(contender, holds): (Contender<'_>, bool)| {
        let standing = if holds { Standing::Holds } else { Standing::Waits };
        Some(Participant::new(queue, contender.role, standing, by_name.remove(contender.name)?))
    };
    Ok(contenders.into_iter().zip(holders).filter_map(participant).collect())
}

/// The pause after an attempt without an answer.
const PAUSE: Duration = Duration::from_millis(50);
