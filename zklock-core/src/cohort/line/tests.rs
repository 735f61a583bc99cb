//! Scenes of one line, step by step. The simulation tries the other interleavings.

mod bounds;
mod endings;
mod passing;
mod permits;
mod sides;

use std::time::Duration;

use super::*;
use crate::cohort::stub::Lease;
use crate::cohort::tenancy::Ready;

use Side::{Exclusive, Shared};

const WITHIN: Duration = Duration::from_millis(50);

/// A line whose calls are named by their ids.
struct Scene {
    line: Line<(), Lease>,
    lease: Lease,
    now: Instant,
    tenancy: TenancyId,
}

impl Scene {
    fn new() -> Self {
        Self::within(64, WITHIN)
    }

    fn within(turns: u32, within: Duration) -> Self {
        let (line, lease) = (Line::new(Queueing::new(turns, within), Kind::Lock), Lease::new());
        Self { line, lease, now: Instant::now(), tenancy: TenancyId(0) }
    }

    fn of(kind: Kind) -> Self {
        Self { line: Line::new(Queueing::new(64, WITHIN), kind), ..Self::new() }
    }

    /// A line with a node of this side, which the first call of it holds.
    fn held(side: Side) -> Self {
        let mut scene = Self::new();
        scene.wait(side);
        scene.enter(side);
        assert_eq!(scene.head(), [(1, 0)]);
        scene
    }

    fn call(&mut self, side: Side, manner: Manner) -> Call<()> {
        Call { id: self.line.id(), side, manner, deadline: None, caller: Some(()) }
    }

    fn wait(&mut self, side: Side) -> Vec<(u64, u32)> {
        let call = self.call(side, Manner::Wait);
        grants(&self.line.arrive(call, self.now).unwrap())
    }

    fn attempt(&mut self, side: Side) -> Result<Vec<(u64, u32)>, Turned> {
        let call = self.call(side, Manner::Try);
        self.line.arrive(call, self.now).map(|served| grants(&served))
    }

    /// A call that waits until a later instant.
    fn wait_for(&mut self, wait: Duration) {
        let mut call = self.call(Exclusive, Manner::Wait);
        call.deadline = Some(self.now + wait);
        assert_eq!(grants(&self.line.arrive(call, self.now).unwrap()), []);
    }

    #[track_caller]
    fn enter(&mut self, side: Side) {
        assert!(
            matches!(self.line.agenda(self.now), Agenda::Enter(entered) if entered == Entry { side, manner: Manner::Wait })
        );
    }

    #[track_caller]
    fn rest(&mut self) {
        assert!(matches!(self.line.agenda(self.now), Agenda::Sleep { .. } | Agenda::Over));
    }

    /// The first look of the task at a vacant node.
    #[track_caller]
    fn look_twice(&mut self) {
        assert!(matches!(self.line.agenda(self.now), Agenda::LookAgain));
    }

    fn head(&mut self) -> Vec<(u64, u32)> {
        self.tenancy = TenancyId(self.line.next_tenancy + 1);
        self.lease = Lease::new();
        grants(&self.line.headed(self.lease.clone(), self.now))
    }

    fn give_back(&mut self) -> (Vec<(u64, u32)>, usize) {
        let served = self.line.given_back(self.tenancy, self.now);
        (grants(&served), served.left.len())
    }

    /// The end of a grant whose holder waits for the release.
    fn release(&mut self) -> (Vec<(u64, u32)>, usize) {
        let served = self.line.released(self.tenancy, self.now);
        (grants(&served), served.left.len())
    }

    fn gone(&mut self, id: u64) -> Vec<(u64, u32)> {
        grants(&self.line.gone(CallId(id), self.now))
    }
}

/// The calls that are granted, and their numbers under the node.
fn grants(served: &Served<(), Lease>) -> Vec<(u64, u32)> {
    served.grants.iter().map(|granted| (granted.call.id.0, granted.handoff)).collect()
}
