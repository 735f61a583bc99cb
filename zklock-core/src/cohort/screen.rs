//! The leases of a simulation, whose states its world shows.

use std::cell::RefCell;
use std::rc::Rc;

use super::tenancy::{Handle, Look};

/// The looks of all leases in the world that is being simulated at the moment.
pub(super) type Screen = Rc<RefCell<Vec<(usize, Look)>>>;

/// A lease as a line has it.
#[derive(Clone, Debug)]
pub(super) struct Lease {
    pub(super) zxid: usize,
    pub(super) screen: Screen,
}

impl Handle for Lease {
    fn look(&self) -> Look {
        let screen = self.screen.borrow();
        let shown = screen.iter().find(|(zxid, _)| *zxid == self.zxid);
        shown.expect("a line has only leases that its client has").1
    }
}

impl PartialEq for Lease {
    fn eq(&self, other: &Self) -> bool {
        self.zxid == other.zxid
    }
}

impl Eq for Lease {}

impl std::hash::Hash for Lease {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.zxid.hash(state);
    }
}
