//! Enters a lock, either again in memory or by an acquisition.

use std::future::ready;
use std::iter;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::acquire::Patience;
use crate::client::Client;
use crate::cohort::{self, Grant, Grants};
use crate::error::{LockError, Phase};
use crate::events::{Attempt, Witness};
use crate::lease::{LeaseState, Tenure};
use crate::session::drive::Contention;

use super::door::Door;
use super::entry::Relation;
use super::node::{Node, Place};
use super::scope::{admitted, nearest};
use super::sought::Sought;
use super::spanned::{self, Spanned};
use super::waiting::{confirm, turn_of};
use super::{Hold, Holds};

/// The wait for a lock. It is boxed, so that the futures of calls that enter again are small.
pub(crate) type Waiting<'a> = Pin<Box<dyn Future<Output = Result<Holds, LockError>> + Send + 'a>>;

impl Door {
    /// Enters the lock again if the current call holds it and nothing is in the way. Otherwise, returns the wait for it.
    #[inline(always)]
    pub(crate) fn begin<'a>(&'a self, client: &'a Client, wait: Duration) -> ControlFlow<Holds, Waiting<'a>> {
        let holds = if wait.is_zero() { None } else { self.again(client) };
        match holds {
            Some(holds) => ControlFlow::Break(holds),
            None => ControlFlow::Continue(self.wait(client, wait)),
        }
    }

    /// Enters the lock again if the current call holds it and nothing is in the way.
    #[inline(always)]
    fn again(&self, client: &Client) -> Option<Holds> {
        enter_again(Sought::at(client, self), Tenure::is_held)
    }

    fn wait<'a>(&'a self, client: &'a Client, wait: Duration) -> Waiting<'a> {
        let patience = match Patience::within(wait, self.path.relative()) {
            Ok(patience) => patience,
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let visitor = Visitor::at(client, self, patience);
        Box::pin(async move {
            let holds = visitor.enter(None).await?;
            // Not expected: only an attempt that does not wait returns `None`.
            holds.ok_or_else(|| visitor.timeout())
        })
    }

    /// Enters the lock without waiting for other holders.
    pub(crate) async fn try_enter(&self, client: &Client) -> Result<Option<Holds>, LockError> {
        if let Some(hold) = self.again(client) {
            return Ok(Some(hold));
        }
        let patience = Patience::new(client.default_wait(), Contention::Leave);
        Box::pin(async { Visitor::at(client, self, patience).enter(None).await }).await
    }

    /// Returns the error of a call that does not wait for others.
    pub(crate) fn contended(&self, client: &Client) -> LockError {
        let (path, holder) = (self.path.relative().to_owned(), cohort::holder(client, &self.path));
        LockError::Timeout { path, waited: Duration::ZERO, phase: Phase::Queued, holder }
    }
}

/// Enters a lock again if the current call holds it and nothing is in the way, to run a body at once.
///
/// The lease clock is not read here: the body's first step is preceded by a reading, which would only repeat this one.
#[inline(always)]
pub(crate) fn enter_again_to_run(sought: Sought<'_>) -> Option<Holds> {
    enter_again(sought, Tenure::is_unbroken)
}

/// It is inlined, so that the hold is made in its place: to move it takes longer than to make it.
#[inline(always)]
fn enter_again(sought: Sought<'_>, is_held: impl Fn(&Tenure) -> bool) -> Option<Holds> {
    let (ties, again) = admitted(sought, is_held)?;
    Hold::inside(ties, sought.entry, again).map(Holds::One)
}

/// Enters a lock again if the current call holds it, and acquires it otherwise.
///
/// Returns `Ok(None)` if others have it and the caller does not want to wait. `group` is the id of a call that takes several
/// locks.
pub(crate) async fn enter(
    client: &Client,
    door: &Door,
    patience: Patience,
    group: Option<u64>,
) -> Result<Option<Holds>, LockError> {
    Visitor::at(client, door, patience).enter(group).await
}

/// A call that is about to enter a lock. Its futures are small, because many calls may wait for one lock.
struct Visitor<'a> {
    client: &'a Client,
    door: &'a Door,
    patience: Patience,
    started: Instant,
}

/// The outcome of an attempt to enter a lock again.
enum Again {
    Entered(Hold),
    /// Others are inside of the hold, and the caller does not want to wait.
    Contended,
    /// The call does not hold the lock.
    Outside,
}

impl<'a> Visitor<'a> {
    fn at(client: &'a Client, door: &'a Door, patience: Patience) -> Self {
        Self { client, door, patience, started: Instant::now() }
    }

    /// Returns the patience that is left.
    fn patience(&self) -> Patience {
        self.patience.spent(self.started.elapsed())
    }

    fn timeout(&self) -> LockError {
        LockError::Timeout {
            path: self.door.path.relative().to_owned(),
            waited: self.patience.wait,
            phase: Phase::Queued,
            holder: None,
        }
    }

    fn nearest(&self) -> Option<(Arc<Node>, Relation)> {
        nearest(Sought::at(self.client, self.door))
    }

    /// Enters the lock again if the current call holds it, and acquires it otherwise. `group` is the id of a call that takes
    /// several locks.
    #[expect(clippy::manual_async_fn, reason = "the future of an `async fn` has its arguments twice")]
    fn enter(&self, group: Option<u64>) -> impl Future<Output = Result<Option<Holds>, LockError>> {
        async move {
            if self.nearest().is_some() {
                match Box::pin(self.enter_again()).await? {
                    Again::Entered(hold) => return Ok(Some(Holds::One(hold))),
                    Again::Contended => return Ok(None),
                    Again::Outside => {}
                }
            }
            let attempt = Attempt::begin(self.client.worker().events(), self.door.subject(group));
            let (witness, patience) = (attempt.witness(), || self.patience());
            match self.acquire((&patience, &witness)).await {
                Ok(Some(grants)) => {
                    announce(attempt, &grants);
                    Ok(Some(self.holds(grants)))
                }
                Ok(None) => {
                    attempt.contended();
                    Ok(None)
                }
                Err(error) => {
                    attempt.failed(&error);
                    Err(error)
                }
            }
        }
    }

    /// Enters the lock again, and waits for what is in the way.
    async fn enter_again(&self) -> Result<Again, LockError> {
        let (client, door) = (self.client, self.door);
        while let Some((outer, relation)) = self.nearest() {
            let path = || door.path.relative().to_owned();
            let again = match relation {
                Relation::Again(again) => again,
                Relation::Upgrade => return Err(LockError::Upgrade { path: path() }),
                Relation::Reentrant => return Err(LockError::Reentrant { path: path() }),
            };
            if outer.gate.admit(again).is_none() {
                if outer.is_over() {
                    continue;
                }
                if self.patience.contention == Contention::Leave {
                    return Ok(Again::Contended);
                }
                // Waiting for a hold does not keep it alive.
                let queue = (outer.gate.queue().clone(), again);
                turn_of(client.worker(), &door.path, queue, self.patience()).await?;
            }
            let place = Place::admitted(outer, again);
            let outer = place.node();
            if outer.is_over() {
                // The hold ended meanwhile. Another hold of this lock may be around it.
                continue;
            }
            let tenure = outer.tenure();
            match tenure.state() {
                LeaseState::Held => {}
                LeaseState::Lost(reason) => return Err(tenure.lost_error(reason)),
                LeaseState::Suspended => {
                    let confirmed = confirm(client.worker(), tenure, self.patience()).await;
                    if !outer.is_over() {
                        confirmed?;
                    }
                }
            }
            if let Some(ties) = Hold::join(outer, door.entry) {
                return Ok(Again::Entered(Hold::placed(ties, door.entry, (place, None))));
            }
        }
        Ok(Again::Outside)
    }

    fn acquire<'v>(
        &'v self,
        waited: (&'v (impl Fn() -> Patience + Sync), &'v Witness),
    ) -> impl Future<Output = Result<Option<Grants>, LockError>> + Send {
        let Self { client, door, .. } = *self;
        cohort::enter(client, (&door.path, &door.wanted), waited)
    }

    /// Returns the first holds of a lock that was acquired, and opens their span.
    fn holds(&self, grants: Grants) -> Holds {
        let span = spanned::open(self.door, &grants);
        let spanned = grants.into_iter().map(|grant| {
            let part = Spanned::part(span.as_ref(), &grant);
            Hold::first(self.client, self.door.entry, (grant, part))
        });
        spanned.collect()
    }
}

/// Reports that the call holds the lock, and has the end of the hold reported.
fn announce(attempt: Attempt, grants: &[Arc<Grant>]) {
    let Some(token) = grants.iter().map(|grant| grant.token()).min() else { return };
    for (grant, holding) in iter::zip(grants, attempt.acquired(token, grants.len())) {
        grant.stint().announce(holding);
    }
}
