//! The record of a schedule: who holds the lock, and which writes are under way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::LockError;
use crate::lease::{Lease, Share, WritePermit};
use crate::local_queue::grant::Grant;
use crate::local_queue::held::Mode;
use crate::session::request_error::RequestError;
use crate::token::FencingToken;

use super::chance;
use super::servers::Servers;

/// The kind of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Mutex,
    ReadWrite,
    Semaphore { permits: usize },
}

/// The record of a schedule.
pub(super) struct Desk {
    kind: Kind,
    servers: Arc<Servers>,
    ledger: Mutex<Ledger>,
}

#[derive(Default)]
struct Ledger {
    holders: Vec<Holder>,
    left: Vec<Holder>,
    writes: Vec<Write>,
    /// The greatest token of an exclusive holder, and of any.
    exclusive: Option<FencingToken>,
    any: Option<FencingToken>,
    entered: usize,
}

struct Holder {
    share: Arc<Share>,
    mode: Mode,
}

/// A guarded write that has no answer, or never had one.
struct Write {
    lease: Arc<Lease>,
    token: FencingToken,
    mode: Mode,
}

impl Desk {
    pub(super) fn new(kind: Kind, servers: &Arc<Servers>) -> Arc<Self> {
        Arc::new(Self { kind, servers: servers.clone(), ledger: Mutex::default() })
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Takes note of a holder, and checks that no other holder excludes it.
    pub(super) fn enter(&self, grant: &Grant, mode: Mode) {
        let share = grant.share().clone();
        let mut ledger = self.ledger();
        ledger.entered += 1;
        if self.is_valid(grant.lease()) {
            let beside = ledger.holders.iter().filter(|holder| self.is_valid(holder.share.lease()));
            check_beside(self.kind, beside, &share, mode);
            ledger.check_writes(&share, mode);
            ledger.check_token(self.kind, share.token(), mode);
        }
        ledger.holders.push(Holder { share, mode });
    }

    /// Takes note that a writer lets readers in.
    pub(super) fn downgrade(&self, grant: &Grant) {
        let token = grant.share().token();
        let mut ledger = self.ledger();
        for holder in ledger.holders.iter_mut().filter(|holder| holder.share.token() == token) {
            holder.mode = Mode::Shared;
        }
    }

    /// Returns the mode of a holder, which may have left.
    pub(super) fn mode_of(&self, share: &Arc<Share>) -> Mode {
        let ledger = self.ledger();
        let mut holders = ledger.holders.iter().chain(&ledger.left);
        let holder = holders.find(|holder| Arc::ptr_eq(&holder.share, share));
        holder.expect("it has entered").mode
    }

    /// Takes note that a holder gives the lock back.
    pub(super) fn leave(&self, grant: &Grant) {
        let mut ledger = self.ledger();
        let left = ledger.holders.extract_if(.., |holder| Arc::ptr_eq(&holder.share, grant.share()));
        let left: Vec<_> = left.collect();
        ledger.left.extend(left);
    }

    /// Makes a guarded write, whose outcome may stay unknown.
    pub(super) async fn write(self: Arc<Self>, permit: WritePermit, mode: Mode) -> Result<(), LockError> {
        let share = permit.shares()[0].clone();
        let ready = permit.ready().await?;
        let (lease, token) = (share.lease().clone(), share.token());
        self.ledger().writes.push(Write { lease: lease.clone(), token, mode });
        let is_known = !chance::one_in(4);
        let answer = ready.send(|_| async {
            chance::pause().await;
            if is_known {
                // It is applied, or refused, before the answer is there.
                self.settle(&lease, token);
                Ok(())
            } else {
                Err(RequestError::Unknown("the connection broke".into()))
            }
        });
        answer.await.ok();
        Ok(())
    }

    /// Returns whether the lease is in force.
    fn is_valid(&self, lease: &Lease) -> bool {
        // Unlike `Lease::check`, this records no loss.
        lease.loss().is_none() && !self.is_gone(lease)
    }

    /// Returns whether the node of this lease is gone although it was not withdrawn, or its session has ended.
    pub(super) fn is_gone(&self, lease: &Lease) -> bool {
        lease.session().is_over() || self.servers.has_robbed(lease)
    }

    fn settle(&self, lease: &Arc<Lease>, token: FencingToken) {
        let mut ledger = self.ledger();
        let write = |write: &Write| Arc::ptr_eq(&write.lease, lease) && write.token == token;
        let place = ledger.writes.iter().position(write).expect("the write is under way");
        ledger.writes.remove(place);
    }

    /// Returns the number of grants.
    pub(super) fn entered(&self) -> usize {
        self.ledger().entered
    }

    pub(super) fn holders(&self) -> usize {
        self.ledger().holders.len()
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// Checks that no write of an earlier holder of the same node can be applied.
    fn check_writes(&self, share: &Share, mode: Mode) {
        let late = |write: &&Write| {
            let is_exclusive = (write.mode, mode) != (Mode::Shared, Mode::Shared);
            Arc::ptr_eq(&write.lease, share.lease()) && is_exclusive
        };
        let late: Vec<_> = self.writes.iter().filter(late).map(|write| write.token).collect();
        assert!(late.is_empty(), "{:?} holds while writes of {late:?} may be applied", share.token());
    }

    fn check_token(&mut self, kind: Kind, token: FencingToken, mode: Mode) {
        let before = match (kind, mode) {
            (Kind::Semaphore { .. }, _) => None,
            (_, Mode::Exclusive) => self.any,
            (_, Mode::Shared) => self.exclusive,
        };
        assert!(before < Some(token), "{token:?} comes after {before:?}");
        self.any = self.any.max(Some(token));
        if mode == Mode::Exclusive {
            self.exclusive = Some(token);
        }
    }
}

/// Checks that a holder may be beside these.
fn check_beside<'a>(kind: Kind, beside: impl Iterator<Item = &'a Holder>, share: &Share, mode: Mode) {
    if let Kind::Semaphore { permits } = kind {
        assert!(beside.count() < permits, "more than {permits} permits are held");
        return;
    }
    let conflicts = beside.filter(|holder| (holder.mode, mode) != (Mode::Shared, Mode::Shared));
    let conflicts: Vec<_> = conflicts.map(|holder| (holder.share.token(), holder.mode)).collect();
    assert!(conflicts.is_empty(), "{:?} holds {mode:?} beside {conflicts:?}", share.token());
}
