//! The events by which the calls of one client get the client's nodes, and the effects of these events.

use std::time::Instant;

use smallvec::SmallVec;

use super::attendant::Rouse;
use super::call::{Call, CallId};
use super::tenancy::TenancyId;

/// The rules by which the calls of one client get the client's nodes: those of a line or of a pool.
pub(super) trait Rules<C, L> {
    /// Returns the id of the next call.
    fn id(&mut self) -> CallId;

    /// Puts a call into the line, at the place of its id.
    fn arrive(&mut self, call: Call<C>, now: Instant) -> Result<Served<C, L>, Turned>;

    /// Returns the number of calls that wait.
    fn waiting(&self) -> usize;

    /// Returns the calls that wait, each with the number of contenders in front: those of other clients, and
    /// calls of this one. The list is empty while the place of this client in the queue is not known.
    fn queued<'a>(&'a mut self) -> impl Iterator<Item = (usize, &'a mut C)>
    where
        C: 'a;

    /// Returns the call that has waited for the longest time.
    fn oldest(&mut self) -> Option<&C>;

    /// Returns whether a contender of this client is in the queue, behind others or behind its own node.
    fn is_queued(&self) -> bool;

    /// Removes a call whose caller no longer waits.
    fn gone(&mut self, id: CallId, now: Instant) -> Served<C, L>;

    /// Handles the end of a grant. Under a node that is no longer kept, it changes nothing.
    fn given_back(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L>;

    /// Handles the end of a grant whose holder waits for the release. If no call waits, and the node has had no other
    /// holder, it leaves at once, so that no task has to come for it.
    fn released(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L>;

    /// Returns whether the node of this tenancy can go to another call.
    fn is_kept(&self, tenancy: TenancyId) -> bool;

    /// Returns whether the node of this tenancy is kept, and nobody holds the lock under it.
    fn is_vacant(&self, tenancy: TenancyId) -> bool;

    /// Treats the node as a reader's from now on, because its downgrade has been ordered.
    fn downgraded(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L>;

    /// Grants the nodes to as many calls as they admit.
    fn serve(&mut self, now: Instant) -> Served<C, L>;

    /// Removes the calls whose deadlines have passed, and returns them.
    fn expire(&mut self, now: Instant) -> Vec<Call<C>>;

    /// Tells whether the task has something to do after a change, and takes note that it is woken.
    fn rouse(&mut self) -> Rouse;

    /// Refuses all calls from now on, and returns those that wait.
    fn close(&mut self) -> Vec<Call<C>>;

    /// Takes note that there is no task any more, so that a later call starts another one. Returns the calls that wait, and the
    /// leases.
    ///
    /// Holders that give their locks back later find no kept node, so that the last of them releases it.
    fn abandon(&mut self) -> (Vec<Call<C>>, Vec<L>);

    fn is_closed(&self) -> bool;
}

/// The reason why a call does not get into the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turned {
    /// The call does not wait for others, and would have to.
    Contended,
    Closed,
}

/// A call that is granted the lock.
#[derive(Debug)]
pub(super) struct Granted<C, L> {
    pub(super) call: Call<C>,
    pub(super) lease: L,
    pub(super) tenancy: TenancyId,
    /// The number of earlier grants under the same node.
    pub(super) handoff: u32,
}

/// The effects of a change.
#[derive(Debug)]
#[must_use = "the grants and the leases belong to others"]
pub(super) struct Served<C, L> {
    /// Mostly one.
    pub(super) grants: SmallVec<[Granted<C, L>; 1]>,
    /// Leases that are no longer kept. Each is released once its last holder has given it back.
    pub(super) left: SmallVec<[L; 1]>,
}

impl<C, L> Default for Served<C, L> {
    fn default() -> Self {
        Self { grants: SmallVec::new(), left: SmallVec::new() }
    }
}
