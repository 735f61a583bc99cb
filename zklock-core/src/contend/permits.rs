//! The permits of a semaphore, in the form of Curator's `InterProcessSemaphoreV2`.
//!
//! Below the semaphore's path, `locks` is the queue of a mutex, the *gate*, and `leases` has one
//! node for each permit. A contender that has passed the gate creates its nodes in `leases`, and
//! holds them as soon as few enough nodes are in front. The gate stays closed behind it until then,
//! so that permits are granted in the order of the gate. One call takes all its permits while it
//! holds the gate, so that two calls of zklock never wait for each other's permits. Curator passes the
//! gate once for each permit: two calls of Curator for several permits can each have a part of them and
//! wait for the rest, and calls of zklock behind them wait with them.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_lite::future::or;
use futures_util::future::{FutureExt, join_all};
use tokio::join;
use tokio_util::sync::CancellationToken;

use crate::deadline::Contention;
use crate::error::Refusal;
use crate::lease::Claim;
use crate::path::NodePath;
use crate::queue::contender::Contender;
use crate::queue::predicate::{GATE, LEASES, Predicate, Role};
use crate::session::Session;
use crate::session::drive::{Driver, NotAcquired, Parameters};
use crate::session::request_error::RequestError;
use crate::time::sleep;

use super::request::{Claims, Permits, Request};

/// Takes all of the wanted permits within one session, or none.
pub(super) async fn contend(
    request: &Request,
    session: &Arc<Session>,
    permits: &Permits,
) -> Result<Claims, NotAcquired> {
    let contest = Contest { request, session, permits };
    loop {
        let gate = contest.pass().await?;
        let (mut claims, inside) = (Claims::new(), request.cancel.child_token());
        // Gives up when the gate is lost, because another client can be inside then.
        let leave = gate.lease().lost().map(|_| inside.cancel()).then(|()| pending());
        let end = or(contest.take(&inside, &mut claims), leave).await;
        let is_lost = |claim: &Claim| claim.lease().check().is_err();
        let left = match end {
            // The gate is released in the background, because the caller need not wait for that.
            Ok(()) if !claims.iter().any(is_lost) => return Ok(claims),
            Ok(()) => None,
            Err(left) => Some(left).filter(|_| !is_lost(&gate)),
        };
        claims.push(gate);
        join_all(claims.into_iter().map(Claim::release)).await;
        // If the gate or a permit was lost, such as by an outsider's deletion, the contest starts again.
        if let Some(left) = left {
            return Err(left);
        }
    }
}

pub(super) struct Contest<'a> {
    request: &'a Request,
    pub(super) session: &'a Arc<Session>,
    pub(super) permits: &'a Permits,
}

impl Contest<'_> {
    /// Returns the path of the semaphore.
    pub(super) fn path(&self) -> &NodePath {
        &self.request.path
    }

    /// Passes the gate.
    ///
    /// An attempt that does not wait looks whether permits are free before it gives up, because the
    /// gate is also closed while another client is just passing.
    async fn pass(&self) -> Result<Claim, NotAcquired> {
        // Contention is told before the call fails at its deadline.
        let last = Instant::now() + LONGEST_PASSAGE.min(self.request.worker.default_wait() / 2);
        loop {
            let parameters =
                self.request.parameters(self.request.path.below(GATE), Predicate::place(Role::Exclusive));
            let driver = Driver::new(self.session.clone(), parameters);
            let passed = self.request.drive(driver, &self.request.cancel).await;
            let Err(NotAcquired::Contended) = passed else {
                return passed;
            };
            if !self.has_room().await? || Instant::now() >= last {
                return Err(NotAcquired::Contended);
            }
            sleep(PASSAGE).await;
        }
    }

    /// Looks whether as many permits are free as are wanted. A number or a list that is not known counts as room, because the
    /// contest asks again.
    async fn has_room(&self) -> Result<bool, NotAcquired> {
        let (leases, requests) = (self.path().below(LEASES), self.session.requests());
        let _permit = self.session.bounds().requests(1).await;
        let names = known(requests.names(leases.full()).await, &leases)?.unwrap_or_default();
        let taken = names.iter().filter(|name| Contender::parse(name).is_some()).count();
        let of = match self.permits.counter() {
            (of, None) => of,
            (_, Some(counter)) => known(counter.read(requests).await, counter.path())?.unwrap_or(u32::MAX),
        };
        Ok(taken.saturating_add(self.permits.wanted as usize) <= of as usize)
    }

    /// Takes the permits one by one, and checks beside the first one that other clients use the same number. Those taken so
    /// far are in `claims`, even if a later one fails.
    async fn take(&self, inside: &CancellationToken, claims: &mut Claims) -> Result<(), NotAcquired> {
        // Taking only some of the permits, to give them back, would make other attempts that do not
        // wait fail.
        let is_part_of_many = self.request.contention == Contention::Leave && self.permits.wanted > 1;
        if is_part_of_many && !self.has_room().await? {
            return Err(NotAcquired::Contended);
        }
        let (first, stop) = (self.driver(), inside.child_token());
        let agreed = self.agree(first.id(), &stop).map(|agreed| agreed.inspect_err(|_| stop.cancel()));
        match join!(agreed, self.request.drive(first, &stop)) {
            (agreed, Ok(claim)) => {
                claims.push(claim);
                agreed?;
            }
            (_, Err(NotAcquired::SessionLost)) => return Err(NotAcquired::SessionLost),
            (Err(refused @ NotAcquired::Refused(_)), Err(_)) => return Err(refused),
            (_, Err(left)) => return Err(left),
        }
        for _ in 1..self.permits.wanted {
            claims.push(self.request.drive(self.driver(), inside).await?);
        }
        Ok(())
    }

    /// Returns the driver of the acquisition of one permit. A shared number is read with each list, so that its seed decides
    /// nothing.
    fn driver(&self) -> Driver {
        let (of, counter) = self.permits.counter();
        let parameters = self.request.parameters(self.path().below(LEASES), Predicate::Permit { of });
        Driver::new(self.session.clone(), Parameters { counter, ..parameters })
    }
}

/// Returns an answer, or the error of a refused request. Other failures are no answer yet: the contest meets the end of the
/// session, or a broken connection, again.
pub(super) fn known<T>(answer: Result<T, RequestError>, path: &NodePath) -> Result<Option<T>, NotAcquired> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(RequestError::NoNode | RequestError::Unknown(_) | RequestError::SessionOver) => Ok(None),
        Err(RequestError::Refused(Refusal::BadVersion)) => Ok(None),
        Err(error) => Err(NotAcquired::Refused(error.into_error(path.relative()))),
    }
}

/// The time that a client gets to pass the gate before the next look.
const PASSAGE: Duration = Duration::from_millis(50);
/// The time after which an attempt that does not wait leaves the gate.
const LONGEST_PASSAGE: Duration = Duration::from_secs(1);
