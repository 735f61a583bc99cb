//! Keeps the shared candidates of a client, one per path.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::error::LockError;
use crate::hold::UNNAMED;
use crate::participant::Participant;
use crate::path::NodePath;

use super::election::Election;
use super::latch::{Intent, LeaderLatch};
use super::leadership::Leadership;

/// The candidates of one client, by path. They end with the client, and do not keep it alive.
#[derive(Default)]
struct Roster(RwLock<Candidates>);

/// The candidates by path: so few that comparing paths takes less time than hashing one.
type Candidates = BTreeMap<String, Arc<Candidate>>;

impl Roster {
    fn of(client: &Client) -> &Self {
        client.candidates().get_or_default()
    }

    fn read(&self) -> RwLockReadGuard<'_, Candidates> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Candidates> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the question whether the client leads at `path`, unless it is known to be no candidate there or to follow.
pub(super) fn may_lead(client: &Client, path: &str) -> Option<impl FnOnce() -> bool + use<>> {
    let candidate = at(client, path).filter(|candidate| !candidate.latch.follows())?;
    Some(move || candidate.latch.is_leader())
}

/// Returns whether the client is a candidate at `path` and, by the election's answer in memory, does not lead.
pub(super) fn follows(client: &Client, path: &str) -> bool {
    at(client, path).is_some_and(|candidate| candidate.latch.follows())
}

/// Returns the candidate at `path`. A forked child has none, and takes no lock that another thread may have had.
fn at(client: &Client, path: &str) -> Option<Arc<Candidate>> {
    let is_forked = client.worker().tasks().is_forked();
    (!is_forked).then(|| Roster::of(client).read().get(path).cloned()).flatten()
}

struct Candidate {
    path: NodePath,
    latch: LeaderLatch,
    since: Instant,
}

impl Candidate {
    fn new(client: &Client, path: &NodePath, label: Cow<'static, str>) -> (Arc<Self>, Intent) {
        let election = Election::new(client.clone(), path.clone()).named(label);
        let (latch, intent) = election.latch_of_client();
        (Arc::new(Self { path: path.clone(), latch, since: Instant::now() }), intent)
    }

    /// Waits for the first answer of the election, for at most `within`; running out of time is not an error.
    async fn settled(&self, within: Duration) -> Result<(), LockError> {
        match self.latch.settled_timeout(within).await {
            Err(LockError::Timeout { .. }) => Ok(()),
            answer => answer,
        }
    }
}

/// The candidate of a client in an election, which all callers share.
///
/// It joins the election at the first call of [`join`](Self::join), [`term`](Self::term) or
/// [`leadership`](Self::leadership), and stays in it until its client is shut down or dropped, and the bodies under its
/// term have ended. If the servers
/// refuse it, it tries again after a pause, as a [`LeaderLatch`] does. Cheap to clone.
///
/// # Examples
///
/// ```no_run
/// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
/// let leader = client.leader("/sweeper")?;
/// if let Some(term) = leader.term().await? {
///     term.set_data("/swept", "today").await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Leader {
    client: Client,
    place: Place,
    label: Cow<'static, str>,
}

/// The way in which a handle finds its candidate.
#[derive(Clone)]
enum Place {
    /// A candidate that existed before the handle, and needs no further lookup.
    Known(Arc<Candidate>),
    New(NodePath),
}

impl Leader {
    pub(super) fn new(client: Client, path: &str) -> Result<Self, LockError> {
        let place = match at(&client, path) {
            Some(candidate) => Place::Known(candidate),
            None => Place::New(client.path(path)?),
        };
        Ok(Self { client, place, label: UNNAMED })
    }

    /// The path of the election below the client's namespace.
    pub fn path(&self) -> &str {
        self.node_path().relative()
    }

    fn node_path(&self) -> &NodePath {
        match &self.place {
            Place::Known(candidate) => &candidate.path,
            Place::New(path) => path,
        }
    }

    /// Names the candidate in events and metrics; see [`Mutex::named`](crate::Mutex::named). The name counts if this
    /// handle is the first one to join the election.
    #[must_use]
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        Self { label: name.into(), ..self }
    }

    /// Joins the election, waits up to two seconds for its first answer, and returns whether this client
    /// leads.
    ///
    /// If this client has already joined, no request is sent.
    ///
    /// # Errors
    ///
    /// The same as [`LeaderLatch::leadership`]. The candidate stays in the election, and tries again on its
    /// own.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate stays in the election.
    pub async fn join(&self) -> Result<bool, LockError> {
        let candidate = self.enter()?;
        candidate.settled(SETTLE).await?;
        Ok(candidate.latch.is_leader())
    }

    /// Returns whether this client leads at this instant, from memory; `false` before it has joined.
    pub fn is_leader(&self) -> bool {
        match &self.place {
            Place::Known(candidate) => candidate.latch.is_leader(),
            Place::New(path) => may_lead(&self.client, path.relative()).is_some_and(|leads| leads()),
        }
    }

    /// Returns, from memory, the error for which the candidate does not run at present: see
    /// [`LeaderLatch::failure`].
    ///
    /// The result is `None` before this client has joined.
    pub fn failure(&self) -> Option<LockError> {
        self.joined().and_then(|candidate| candidate.latch.failure())
    }

    /// Returns the term of this client, or `None` if it does not lead.
    ///
    /// The first call joins the election. A call in the first two seconds after that waits for the first
    /// answer of the election, so that a lone candidate does not take itself for a follower. All other calls
    /// are answered from memory.
    ///
    /// # Errors
    ///
    /// The same as [`LeaderLatch::leadership`]. While the candidate cannot run, each call returns its last
    /// error.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate stays in the election.
    pub async fn term(&self) -> Result<Option<Leadership>, LockError> {
        // The fast path for every call after the first answer.
        if let Place::Known(candidate) = &self.place
            && let Some(term) = candidate.latch.answer()
        {
            return Ok(term);
        }
        let candidate = self.enter()?;
        if !candidate.latch.is_settled()? {
            let left = SETTLE.saturating_sub(candidate.since.elapsed());
            if !left.is_zero() {
                // Boxed, so that this future does not enlarge that of the many calls that do not wait.
                Box::pin(candidate.settled(left)).await?;
            }
        }
        Ok(candidate.latch.current())
    }

    /// Joins the election, and waits until this client leads.
    ///
    /// # Errors
    ///
    /// The same as [`LeaderLatch::leadership`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate stays in the election.
    pub async fn leadership(&self) -> Result<Leadership, LockError> {
        self.enter()?.latch.leadership().await
    }

    /// Joins the election, and waits until this client leads, for at most `wait`.
    ///
    /// # Errors
    ///
    /// The same as [`LeaderLatch::leadership_timeout`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate stays in the election.
    pub async fn leadership_timeout(&self, wait: Duration) -> Result<Leadership, LockError> {
        self.enter()?.latch.leadership_timeout(wait).await
    }

    /// Resigns if this client leads, and runs again from the tail of the candidates.
    ///
    /// When this returns, the term is over, and the bodies under it have been told to end.
    ///
    /// # Cancel safety
    ///
    /// The resignation goes on in the background.
    pub async fn resign(&self) {
        if let Some(term) = self.joined().and_then(|candidate| candidate.latch.current()) {
            term.resign();
            term.lost().await;
        }
    }

    /// Lists the candidates in the order in which they will lead; the first is the leader.
    ///
    /// # Errors
    ///
    /// The same as [`Mutex::participants`](crate::Mutex::participants).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        Election::new(self.client.clone(), self.node_path().clone()).participants().await
    }

    fn joined(&self) -> Option<Arc<Candidate>> {
        match &self.place {
            Place::Known(candidate) => Some(candidate.clone()),
            Place::New(path) => at(&self.client, path.relative()),
        }
    }

    fn enter(&self) -> Result<Arc<Candidate>, LockError> {
        let worker = self.client.worker();
        if worker.tasks().is_forked() {
            return Err(worker.closed(self.node_path()));
        }
        // Every call but the first finds the candidate without the write lock, and does not block the others.
        Ok(self.joined().unwrap_or_else(|| {
            let mut candidates = Roster::of(&self.client).write();
            let vacant = match candidates.entry(self.path().to_owned()) {
                Entry::Occupied(candidate) => return candidate.get().clone(),
                Entry::Vacant(vacant) => vacant,
            };
            let (candidate, intent) = Candidate::new(&self.client, self.node_path(), self.label.clone());
            vacant.insert(candidate.clone());
            drop(candidates);
            // Listeners are told without the lock: they may be woken in this thread, and look at the candidate.
            intent.join();
            candidate
        }))
    }
}

impl fmt::Debug for Leader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leader")
            .field("path", &self.path())
            .field("is_leader", &self.is_leader())
            .finish_non_exhaustive()
    }
}

/// The longest wait of the first callers for the election's first answer.
const SETTLE: Duration = Duration::from_secs(2);
