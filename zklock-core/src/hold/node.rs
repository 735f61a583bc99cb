//! A hold, as the calls inside of it find it, and what keeps the lock for it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::client::Client;
use crate::client::worker::Worker;
use crate::cohort::Grant;
use crate::lease::{Share, Tenure};

use super::chain::{Chain, Ends};
use super::ending::Ending;
use super::entry::{Again, Entry, Relation};
use super::gate::{Admitted, Gate};
use super::sought::Sought;
use super::spanned::Spanned;
use super::stake::Writing;
use super::visits::Visits;

/// A hold, as the calls inside of it find it. Scopes refer to it, which does not keep the lock: only its ties do.
pub(crate) struct Node {
    entry: Entry,
    share: Arc<Share>,
    worker: Weak<Worker>,
    pub(super) gate: Gate<Ties>,
    pub(super) visits: Visits<Ties>,
    /// Created on demand, and taken when the hold ends.
    ending: Mutex<Option<Arc<Ending>>>,
    /// The writing under the lease, if this hold is for writing.
    pub(super) writing: Option<Arc<Writing>>,
    ties: Weak<Ties>,
}

/// The ties of a hold to its lock, which they keep. The entries inside of the hold share them, until something may be
/// entered inside of those entries.
///
/// The fields are dropped in their order. The span ends before the grant. The client ends after it, because the end of
/// the last client ends the session: the lease is released and not lost.
#[derive(Debug)]
pub(super) struct Ties {
    pub(super) span: Spanned,
    pub(super) grant: Arc<Grant>,
    /// `None` for the first hold of a lock.
    places: Option<Mutex<Places>>,
    pub(super) node: Arc<Node>,
    pub(super) client: Client,
}

/// The place of an entry in the hold around it.
#[derive(Debug)]
pub(super) struct Place {
    node: Arc<Node>,
    again: Again,
}

/// The place of a hold in its parent, and those of its ancestors: a hold may outlive the holds around it, and must still
/// exclude their siblings.
#[derive(Debug)]
struct Places {
    /// The place in the parent, as long as nothing is entered below.
    own: Option<Place>,
    shared: Chain<Arc<Place>>,
}

impl Node {
    fn new(
        entry: Entry,
        (share, client): (Arc<Share>, &Client),
        (writing, ending): (Option<Arc<Writing>>, Option<Arc<Ending>>),
        ties: &Weak<Ties>,
    ) -> Arc<Self> {
        Arc::new(Self {
            entry,
            share,
            worker: Arc::downgrade(client.worker()),
            gate: Gate::default(),
            visits: Visits::default(),
            ending: Mutex::new(ending),
            writing,
            ties: ties.clone(),
        })
    }

    pub(super) fn share(&self) -> &Arc<Share> {
        &self.share
    }

    #[inline]
    pub(super) fn tenure(&self) -> &Arc<Tenure> {
        self.share.tenure()
    }

    /// Returns the relation of an entry to this hold, or `None` if it is another lock or the hold has ended.
    #[inline]
    pub(super) fn relation(&self, sought: Sought<'_>) -> Option<Relation> {
        Relation::of(self.entry, sought.entry).filter(|_| !self.is_over() && self.is_at(sought))
    }

    /// Returns whether this is a hold of the lock that is sought.
    #[inline]
    pub(super) fn is_at(&self, sought: Sought<'_>) -> bool {
        sought.client.is_of(&self.worker) && self.tenure().path().is_below(sought.path)
    }

    /// Admits an entry if this node is held, and nothing is in the way of the entry. Returns the ties, which the entry
    /// shares. It runs no code of users.
    #[inline]
    pub(super) fn admit(&self, again: Again, is_held: impl Fn(&Tenure) -> bool) -> Option<Arc<Ties>> {
        if !is_held(self.tenure()) {
            return None;
        }
        if let Admitted::ByPass(ties) = self.gate.admit(again)? {
            return Some(ties);
        }
        let ties = self.ties();
        if ties.is_none() {
            self.gate.leave(again);
        }
        ties
    }

    /// Ends the visit of this hold if an entry that was admitted in this way is one, and returns its ties.
    #[inline]
    pub(super) fn end_visit(&self, again: Again) -> Option<Arc<Ties>> {
        match again {
            Again::Alone => self.visits.end(),
            Again::Shared => None,
        }
    }

    /// Returns the ties of this hold, unless it has ended and nothing is left inside of it.
    #[inline]
    pub(super) fn ties(&self) -> Option<Arc<Ties>> {
        self.ties.upgrade()
    }

    pub(super) fn worker(&self) -> Option<Arc<Worker>> {
        self.worker.upgrade()
    }

    /// Returns the end of this hold, or `None` if it has ended.
    pub(super) fn ending(&self) -> Option<Arc<Ending>> {
        let mut ending = self.lock_ending();
        // It is taken under this lock.
        (!self.is_over()).then(|| ending.get_or_insert_default().clone())
    }

    /// Returns the end of this hold if somebody has asked for it.
    pub(super) fn present_ending(&self) -> Option<Arc<Ending>> {
        self.lock_ending().clone()
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.gate.is_over()
    }

    /// Ends this hold.
    pub(super) fn end(&self) {
        let (ending, pass) = {
            let mut ending = self.lock_ending();
            let pass = self.gate.end();
            (ending.take(), pass)
        };
        // Callbacks are dropped without the lock.
        drop((ending, pass));
    }

    fn lock_ending(&self) -> MutexGuard<'_, Option<Arc<Ending>>> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ends for Arc<Node> {
    fn is_over(&self) -> bool {
        Node::is_over(self)
    }
}

impl Ties {
    /// Returns the ties of the first hold of a lock.
    pub(super) fn first(client: &Client, entry: Entry, (grant, span): (Arc<Grant>, Spanned)) -> Arc<Self> {
        let writing = (entry == Entry::Write).then(|| Arc::new(Writing::by_one(&grant)));
        let share = grant.share().clone();
        Arc::new_cyclic(|ties| {
            let node = Node::new(entry, (share, client), (writing, None), ties);
            Self { span, grant, places: None, node, client: client.clone() }
        })
    }

    /// Returns the ties of a hold that has this place in the one with these ties, and this end.
    pub(super) fn inner(&self, entry: Entry, place: Place, ending: Option<Arc<Ending>>) -> Arc<Self> {
        let outer = &self.node;
        let writing = outer.writing.as_ref().filter(|_| entry == Entry::Write).cloned();
        let places = Mutex::new(Places { own: Some(place), shared: self.places() });
        Arc::new_cyclic(|ties| {
            let node = Node::new(entry, (outer.share.clone(), &self.client), (writing, ending), ties);
            Self {
                span: self.span.clone(),
                grant: self.grant.clone(),
                places: Some(places),
                node,
                client: self.client.clone(),
            }
        })
    }

    /// Returns the ties of the entry alone that these have admitted.
    pub(super) fn of_visit(&self) -> Arc<Self> {
        let place = Place::admitted(self.node.clone(), Again::Alone);
        self.inner(self.node.entry, place, None)
    }

    /// Returns the places of this hold, for one that is entered inside of it.
    fn places(&self) -> Chain<Arc<Place>> {
        let Some(places) = &self.places else { return Chain::default() };
        let Places { own, shared } = &mut *places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = own.take() {
            *shared = shared.with(Arc::new(place));
        }
        shared.clone()
    }
}

impl Place {
    /// Returns the place of an entry that was admitted.
    pub(super) fn admitted(node: Arc<Node>, again: Again) -> Self {
        Self { node, again }
    }

    pub(super) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    pub(super) fn again(&self) -> Again {
        self.again
    }
}

impl Ends for Arc<Place> {
    /// Returns `true` if the parent has ended, so that nobody can become a sibling any more.
    fn is_over(&self) -> bool {
        self.node.is_over()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.node.gate.leave(self.again);
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("entry", &self.entry)
            .field("share", &self.share)
            .field("gate", &self.gate)
            .field("is_over", &self.is_over())
            .finish_non_exhaustive()
    }
}
