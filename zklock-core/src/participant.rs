//! Lists the holders and waiters of a lock, and asks them to leave.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::stream::{self, Stream, StreamExt};
use tokio::join;

use crate::client::Client;
use crate::client::worker::Worker;
use crate::contend::{Count, Wanted};
use crate::error::LockError;
use crate::hold::LockRef;
use crate::local_queue;
use crate::mode::Mode;
use crate::path::NodePath;
use crate::queue::contender::Contender;
use crate::queue::predicate::{self, GATE, LEASES, Predicate};
use crate::queue::turn;
use crate::session::Session;
use crate::session::counter::Counter;
use crate::session::own_node::REVOKE;
use crate::session::request_error::RequestError;
use crate::session::requests::{Read, Requests};
use crate::token::FencingToken;

/// A contender for a lock, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Participant {
    /// The path of its queue below the client's namespace: the path of the lock, or for a semaphore a path below
    /// that. It is empty in the queue of the namespace itself.
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
    /// nevertheless. It is `None` for the nodes of other clients, for elections, and in a
    /// [`Survey`](crate::Survey).
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
    /// Returns whether its node is persistent. No session owns such a node, and it stays until it is deleted.
    pub fn is_persistent(&self) -> bool {
        self.session_id == 0
    }
}

/// Lists the participants, and tells how many calls of this client wait in line.
pub(crate) async fn list_with_line(client: &Client, lock: &LockRef) -> Result<Vec<Participant>, LockError> {
    let mut participants = list(client.worker(), lock).await?;
    let own = client.session_id().filter(|_| !matches!(lock.wanted, Wanted::Candidacy { .. }));
    let waiting = local_queue::waiting(client, &lock.path);
    let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
    for participant in participants.iter_mut().filter(|one| Some(one.session_id) == own) {
        participant.waiting_here = Some(waiting);
    }
    Ok(participants)
}

/// Lists the participants, holders before waiters.
pub(crate) async fn list(worker: &Arc<Worker>, lock: &LockRef) -> Result<Vec<Participant>, LockError> {
    let asked = lock.clone();
    worker.ask_until_answered(&lock.path, move |session| ask(session, asked.clone())).await
}

async fn ask(session: Arc<Session>, lock: LockRef) -> Result<Vec<Participant>, LockError> {
    let (requests, path) = (session.requests(), &lock.path);
    let failed = |error: RequestError| error.into_error(path.relative());
    let queues = match &lock.wanted {
        Wanted::Place(place) | Wanted::Candidacy { place, .. } => {
            // The names that a contender's own client also waits for are unknown; ours are assumed.
            let also_behind = &place.also_behind;
            let predicate =
                |role| Predicate::Place(predicate::Place { role, also_behind: also_behind.clone() });
            let queue = Queue::list(requests, path, also_behind, predicate).await;
            vec![queue.map_err(failed)?]
        }
        Wanted::Permits(permits) => {
            let of = count(&session, &permits.count).await?;
            // The only permit of `Client::exclusive` is a mutex.
            semaphore(requests, path, (of, lock.access.mode())).await.map_err(failed)?.into()
        }
    };
    let mut participants = Vec::new();
    for queue in &queues {
        // Asked for together, so that most queues take only one more round trip.
        let mut described = pin!(queue.describe(requests, &queue.places, AT_A_TIME));
        while let Some(participant) = described.next().await {
            participants.extend(participant.map_err(failed)?);
        }
    }
    Ok(participants)
}

/// Returns the number of permits. A failure is about the node that contains the number.
async fn count(session: &Session, count: &Count) -> Result<u32, LockError> {
    match count {
        Count::Agreed(of) => Ok(*of),
        Count::Shared { path, seed } => {
            let counter = Counter::new(path.clone(), *seed);
            counter.read(session.requests()).await.map_err(|error| error.into_error(path.relative()))
        }
    }
}

/// A queue as it was listed.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    path: NodePath,
    /// Its contenders in order.
    pub(crate) places: Vec<Place>,
}

/// One place in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) mode: Mode,
    pub(crate) holds: bool,
}

impl Queue {
    /// Reads the contenders among the names of the children at this path.
    pub(crate) fn read(
        path: &NodePath,
        names: &[String],
        strangers: &[String],
        predicate: impl Fn(Mode) -> Predicate,
    ) -> Self {
        let contenders = turn::in_order(names, strangers);
        let holders = turn::holders(&contenders, predicate);
        let place = |(contender, holds): (Contender<'_>, bool)| Place {
            name: contender.name.to_owned(),
            mode: contender.role,
            holds,
        };
        Self { path: path.clone(), places: contenders.into_iter().zip(holders).map(place).collect() }
    }

    async fn list(
        requests: &Requests,
        path: &NodePath,
        strangers: &[String],
        predicate: impl Fn(Mode) -> Predicate,
    ) -> Result<Self, RequestError> {
        let names = requests.names(path.full()).await?;
        Ok(Self::read(path, &names, strangers, predicate))
    }

    /// Describes some of the places in their order, with up to this many requests at a time. `None` is one that has left
    /// meanwhile.
    pub(crate) fn describe(
        &self,
        requests: &Requests,
        places: &[Place],
        at_a_time: usize,
    ) -> impl Stream<Item = Result<Option<Participant>, RequestError>> {
        let mut each = Vec::new();
        for place in places {
            each.push(self.describe_one(requests, place));
        }
        stream::iter(each).buffered(at_a_time)
    }

    async fn describe_one(
        &self,
        requests: &Requests,
        place: &Place,
    ) -> Result<Option<Participant>, RequestError> {
        let read = requests.read(&self.path.child(&place.name)).await?;
        Ok(read.map(|Read { data, stat }| Participant {
            path: self.path.relative().to_owned(),
            node: place.name.clone(),
            identity: String::from_utf8_lossy(&data).into_owned(),
            session_id: stat.ephemeral_owner,
            entered: SystemTime::UNIX_EPOCH
                + Duration::from_millis(stat.ctime.try_into().unwrap_or_default()),
            fencing_token: FencingToken::new(stat.czxid),
            mode: place.mode,
            standing: if place.holds { Standing::Holds } else { Standing::Waits },
            waiting_here: None,
        }))
    }

    async fn owner(&self, requests: &Requests, place: &Place) -> Result<Option<i64>, RequestError> {
        Ok(requests.stat(&self.path.child(&place.name)).await?.map(|stat| stat.ephemeral_owner))
    }
}

/// Lists the queues of a semaphore with this number of permits, which are held in this mode: the holders of permits, and then
/// the waiters at the gate.
pub(crate) async fn semaphore(
    requests: &Requests,
    path: &NodePath,
    (of, mode): (u32, Mode),
) -> Result<[Queue; 2], RequestError> {
    let mut permits = Queue::list(requests, &path.below(LEASES), &[], |_| Predicate::Permit { of }).await?;
    let mut gate = Queue::list(requests, &path.below(GATE), &[], Predicate::place).await?;
    // The contender that has passed the gate has a node in both queues while it waits for permits. It may have left the gate
    // between the two lists.
    if let (Some(inside), Some(first)) =
        (permits.places.last().filter(|last| !last.holds), gate.places.first())
    {
        let (inside, first) = join!(permits.owner(requests, inside), gate.owner(requests, first));
        if first?.is_some_and(|first| inside.is_ok_and(|inside| inside == Some(first))) {
            gate.places.remove(0);
        }
    }
    gate.places.iter_mut().for_each(|waiter| waiter.holds = false);
    permits.places.iter_mut().chain(&mut gate.places).for_each(|place| place.mode = mode);
    Ok([permits, gate])
}

impl Client {
    /// Asks a holder to release its lock; see [`MutexGuard::revoked`](crate::MutexGuard::revoked).
    ///
    /// The holder may ignore the request. On the wire it is Curator's `Revoker`, so that holders in Java that made
    /// their lock revocable are asked too. It is not an error if the participant is already gone.
    ///
    /// # Errors
    ///
    /// * [`LockError::Denied`] if this client may not write to the participant's node.
    /// * [`LockError::Refused`] if the servers refuse the request for another reason.
    /// * [`LockError::InvalidPath`] if the participant is in the queue of the namespace itself.
    /// * [`LockError::Timeout`] if the servers do not answer within the client's default wait; the request may still be
    ///   applied.
    /// * [`LockError::AuthFailed`], [`LockError::Tls`], [`LockError::InvalidConfig`] if no session can be opened.
    /// * [`LockError::OutcomeUnknown`] if the connection broke or the session ended; the request may have been applied.
    /// * [`LockError::Closed`] if the client is shut down; a request that is under way may still be applied.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn revoke(&self, participant: &Participant) -> Result<(), LockError> {
        let queue = self.path(&participant.path)?;
        let node = queue.child(&participant.node);
        let ask = move |session: Arc<Session>| async move {
            match session.requests().write(&node, REVOKE, None).await {
                Err(RequestError::NoNode) => Ok(()),
                outcome => outcome,
            }
        };
        self.worker().ask(&queue, ask).await
    }

    /// Deletes a participant's node by force, whether it holds the lock or waits for it.
    ///
    /// The lock passes to the next contender at once. A holder that uses zklock learns of its loss only afterwards:
    /// until then, only the fencing token and guarded writes distinguish it from the next holder. A waiter enters
    /// the queue again, at its tail. If only one contender was in front of it, it does so at once, because it
    /// watches its own node. Otherwise it does so when the contender in front of it leaves. It is not an error if
    /// the participant is already gone.
    ///
    /// # Errors
    ///
    /// [`LockError::Denied`] if this client may not delete in the queue of the participant, and the others of
    /// [`revoke`](Self::revoke).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn break_lock(&self, participant: &Participant) -> Result<(), LockError> {
        let queue = self.path(&participant.path)?;
        let node = queue.child(&participant.node);
        let delete = move |session: Arc<Session>| async move { session.requests().delete(&node).await };
        self.worker().ask(&queue, delete).await
    }
}

/// The most participants of a lock that are asked for at a time, so that the reads that prove leases wait for no more.
const AT_A_TIME: usize = 256;
