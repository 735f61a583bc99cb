//! Scenes of one pool, step by step. The simulation tries the other interleavings.

mod contenders;
mod endings;
mod passing;

use std::time::Duration;

use super::*;
use crate::cohort::call::Manner;
use crate::cohort::stub::Lease;
use crate::cohort::tenancy::Ready;

const TURNS: u32 = 64;
const WITHIN: Duration = Duration::from_millis(50);
/// Longer than a contender stays that no call waits for.
const LATER: Duration = Duration::from_millis(6);

/// A pool whose calls, contenders and permits are named by their numbers.
struct Scene {
    pool: Pool<(), Lease>,
    now: Instant,
}

impl Scene {
    fn new() -> Self {
        Self { pool: Pool::new(Queueing::new(TURNS, WITHIN), MOST), now: Instant::now() }
    }

    /// A pool with one permit, which the first call holds.
    fn held() -> (Self, Lease) {
        let (mut scene, lease) = (Self::new(), Lease::new());
        scene.wait();
        assert_eq!(scene.enter(), [1]);
        assert_eq!(scene.head(1, &lease), [(1, 1, 0)]);
        assert_eq!(scene.pool.agenda(scene.now), Agenda::Over);
        (scene, lease)
    }

    fn wait(&mut self) -> Vec<(u64, u64, u32)> {
        let id = self.pool.id();
        let call = Call { id, side: Side::Exclusive, manner: Manner::Wait, deadline: None, caller: Some(()) };
        grants(&self.pool.arrive(call, self.now).unwrap())
    }

    /// Lets the task do its work, and returns the contenders that enter.
    fn enter(&mut self) -> Vec<u64> {
        let (entered, withdrawn) = self.work();
        assert_eq!(withdrawn, [0; 0]);
        entered
    }

    /// Lets the task do its work, and returns the contenders that leave.
    fn withdraw(&mut self) -> Vec<u64> {
        let (entered, withdrawn) = self.work();
        assert_eq!(entered, [0; 0]);
        withdrawn
    }

    fn work(&mut self) -> (Vec<u64>, Vec<u64>) {
        let (mut entered, mut withdrawn) = (Vec::new(), Vec::new());
        loop {
            match self.pool.agenda(self.now) {
                Agenda::Enter(id) => entered.push(id.0),
                Agenda::Withdraw(id) => withdrawn.push(id.0),
                Agenda::Sleep { .. } | Agenda::Over => return (entered, withdrawn),
            }
        }
    }

    fn head(&mut self, contender: u64, lease: &Lease) -> Vec<(u64, u64, u32)> {
        grants(&self.pool.headed(ContenderId(contender), lease.clone(), self.now))
    }

    fn give_back(&mut self, permit: u64) -> (Vec<(u64, u64, u32)>, usize) {
        let served = self.pool.given_back(TenancyId(permit), self.now);
        (grants(&served), served.left.len())
    }
}

/// The calls that are granted, the permits that they get, and the numbers of the grants under the permits' nodes.
fn grants(served: &Served<(), Lease>) -> Vec<(u64, u64, u32)> {
    served.grants.iter().map(|granted| (granted.call.id.0, granted.tenancy.0, granted.handoff)).collect()
}
