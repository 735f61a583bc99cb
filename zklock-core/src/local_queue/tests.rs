//! Scenes of one line, step by step. The simulation tries the other interleavings.

mod bounds;
mod endings;
mod modes;
mod passing;
mod permits;

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::client::settings::Queueing;
use crate::lease::Readiness;

use super::held::{Handle, Kind, Look, Mode, NodeId};
use super::state::{Call, CallId, Entry, Granted, Need, Rejected, State, Wake};
use crate::deadline::Contention;

use Mode::{Exclusive, Shared};

const WITHIN: Duration = Duration::from_millis(50);

/// A line whose calls are named by their ids.
struct Scene {
    state: State<(), Claim>,
    claim: Claim,
    now: Instant,
    node: NodeId,
}

impl Scene {
    fn new() -> Self {
        Self::within(64, WITHIN)
    }

    fn within(turns: u32, within: Duration) -> Self {
        let (state, claim) = (State::new(Queueing::new(turns, within), Kind::Lock), Claim::new());
        Self { state, claim, now: Instant::now(), node: NodeId(0) }
    }

    fn of(kind: Kind) -> Self {
        Self { state: State::new(Queueing::new(64, WITHIN), kind), ..Self::new() }
    }

    /// A line with a node in this mode, which the first call of it holds.
    fn held(mode: Mode) -> Self {
        let mut scene = Self::new();
        scene.wait(mode);
        scene.enter(mode);
        assert_eq!(scene.head(), [(1, 0)]);
        scene
    }

    fn call(&mut self, mode: Mode, contention: Contention) -> Call<()> {
        Call { id: self.state.id(), mode, contention, deadline: None, caller: () }
    }

    fn wait(&mut self, mode: Mode) -> Vec<(u64, u32)> {
        let call = self.call(mode, Contention::Wait);
        grants(&self.state.arrive(call, self.now).unwrap())
    }

    fn attempt(&mut self, mode: Mode) -> Result<Vec<(u64, u32)>, Rejected> {
        let call = self.call(mode, Contention::Leave);
        self.state.arrive(call, self.now).map(|served| grants(&served))
    }

    /// A call that waits until a later instant.
    fn wait_for(&mut self, wait: Duration) {
        let mut call = self.call(Exclusive, Contention::Wait);
        call.deadline = Some(self.now + wait);
        assert_eq!(grants(&self.state.arrive(call, self.now).unwrap()), []);
    }

    /// The task contends, and gives up the nodes that have left before.
    #[track_caller]
    fn enter(&mut self, mode: Mode) {
        let mut need = self.state.next(self.now);
        if let Need::GiveUp(_) = need {
            need = self.state.next(self.now);
        }
        assert_eq!(need, Need::Contend(Entry { mode, contention: Contention::Wait }));
    }

    /// The task lets other clients' readers in, and leaves the node to its holders.
    #[track_caller]
    fn downgrade(&mut self) {
        assert_eq!(self.state.next(self.now), Need::Downgrade(self.node));
        assert!(self.state.take_held(self.node).is_some());
    }

    #[track_caller]
    fn rest(&mut self) {
        assert!(matches!(self.state.next(self.now), Need::Wait(..) | Need::Nothing));
    }

    fn head(&mut self) -> Vec<(u64, u32)> {
        self.node = NodeId(self.state.last_node + 1);
        self.claim = Claim::new();
        grants(&self.state.headed(self.claim.clone(), self.now))
    }

    fn give_back(&mut self) -> (Vec<(u64, u32)>, usize) {
        let served = self.state.given_back(self.node, self.now);
        (grants(&served), self.left())
    }

    /// The number of nodes that the line has given up.
    fn left(&mut self) -> usize {
        std::mem::take(&mut self.state.left).len()
    }

    fn gone(&mut self, id: u64) -> Vec<(u64, u32)> {
        grants(&self.state.gone(CallId(id), self.now))
    }
}

/// The calls that are granted, and their numbers under the node.
fn grants(served: &[Granted<(), Claim>]) -> Vec<(u64, u32)> {
    served.iter().map(|granted| (granted.call.id.0, granted.handoff)).collect()
}

/// A lease whose state a test sets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Claim(Rc<Cell<Look>>);

impl Handle for Claim {
    fn look(&self) -> Look {
        self.0.get()
    }
}

impl Claim {
    pub(super) fn new() -> Self {
        Self(Rc::new(Cell::new(Look { readiness: Readiness::Ready, contended_since: None })))
    }

    pub(super) fn becomes(&self, readiness: Readiness) {
        self.0.set(Look { readiness, ..self.0.get() });
    }

    pub(super) fn is_contended_since(&self, contended_since: Instant) {
        self.0.set(Look { contended_since: Some(contended_since), ..self.0.get() });
    }

    /// Returns the number of claims to this lease, this one included.
    pub(super) fn claims(&self) -> usize {
        Rc::strong_count(&self.0)
    }
}
