//! Admits the entries inside of a hold.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Semaphore;

use crate::interleaving;

use super::entry::Again;

/// Admits one entry at a time, or several that share the hold.
///
/// Until an entry has to wait, one number is all that there is. The first entry that has to wait makes a semaphore, which
/// counts from then on: it serves those that wait in the order in which they came, and later entries behind them.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The number of permits that are taken, or [`QUEUED`].
    taken: AtomicU32,
    /// The permits that are free, from the first wait on.
    queue: OnceLock<Arc<Semaphore>>,
}

/// The number of permits of a hold, which an entry alone takes.
const ALL: u32 = Again::Alone.permits();
/// The value that says that the semaphore counts.
const QUEUED: u32 = 1 << 31;

impl Gate {
    /// Admits an entry if none is in its way, and none waits.
    #[inline]
    pub(super) fn admit(&self, again: Again) -> bool {
        let admitted = |taken| Some(taken + again.permits()).filter(|sum| *sum <= ALL);
        match self.change(admitted) {
            Ok(_) => true,
            Err(QUEUED) => {
                let permit = self.free().try_acquire_many(again.permits());
                permit.map(|permit| permit.forget()).is_ok()
            }
            Err(_) => false,
        }
    }

    /// Returns the semaphore, whose permits admit entries from now on. An entry that has got its permits forgets them.
    ///
    /// While the first call of this makes the permits, entries that do not wait are refused.
    pub(super) fn queue(&self) -> &Arc<Semaphore> {
        let queue = self.free();
        interleaving::point();
        let taken = self.taken.swap(QUEUED, Ordering::AcqRel);
        interleaving::point();
        // The entries that leave from now on give their permits to the semaphore.
        if taken != QUEUED {
            queue.add_permits((ALL - taken) as usize);
        }
        queue
    }

    /// Takes note of the end of an entry.
    #[inline]
    pub(super) fn leave(&self, again: Again) {
        if self.change(|taken| Some(taken - again.permits())).is_err() {
            self.free().add_permits(again.permits() as usize);
        }
    }

    /// The permits that are free once an entry has waited.
    fn free(&self) -> &Arc<Semaphore> {
        self.queue.get_or_init(|| Arc::new(Semaphore::new(0)))
    }

    /// Changes the number of permits that are taken. If it does not change, fails with that number, or with [`QUEUED`].
    #[inline]
    fn change(&self, next: impl Fn(u32) -> Option<u32>) -> Result<u32, u32> {
        interleaving::point();
        let next = |taken| if taken == QUEUED { None } else { next(taken) };
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, next)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use shuttle::MaxSteps;
    use shuttle::future::{block_on, spawn, yield_now};
    use shuttle::rand::Rng;
    use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
    use shuttle::sync::Mutex;
    use shuttle::sync::atomic::AtomicBool;

    use super::*;
    use crate::interleaving::Schedule;

    fn is_admitted(gate: &Gate, again: Again) -> bool {
        let is_admitted = gate.admit(again);
        if is_admitted {
            gate.leave(again);
        }
        is_admitted
    }

    /// Checks who is inside before a semaphore counts, and afterwards.
    #[test]
    fn one_is_inside_alone_or_several_share() {
        let gate = Gate::default();
        for _ in 0..2 {
            assert!(gate.admit(Again::Shared) && gate.admit(Again::Shared));
            assert!(!is_admitted(&gate, Again::Alone));
            gate.leave(Again::Shared);
            assert!(!is_admitted(&gate, Again::Alone));
            gate.leave(Again::Shared);
            assert!(gate.admit(Again::Alone));
            assert!(!is_admitted(&gate, Again::Alone) && !is_admitted(&gate, Again::Shared));
            gate.leave(Again::Alone);
            gate.queue();
        }
    }

    #[test]
    fn those_that_share_are_as_many_as_there_are_permits() {
        let gate = Gate::default();
        assert!((0..ALL).all(|_| gate.admit(Again::Shared)));
        assert!(!gate.admit(Again::Shared));
        gate.queue();
        assert!(!gate.admit(Again::Shared));
        gate.leave(Again::Shared);
        assert!(gate.admit(Again::Shared) && !gate.admit(Again::Shared));
    }

    #[test]
    fn an_entry_that_could_share_waits_behind_one_that_waits_to_be_alone() {
        let gate = Gate::default();
        assert!(gate.admit(Again::Shared));
        let mut first = pin!(gate.queue().acquire_many(Again::Alone.permits()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(!is_admitted(&gate, Again::Shared));
        let mut second = pin!(gate.queue().acquire_many(Again::Shared.permits()));
        assert!(second.as_mut().poll(&mut context).is_pending());
        gate.leave(Again::Shared);
        assert!(second.as_mut().poll(&mut context).is_pending());
        let Poll::Ready(permit) = first.poll(&mut context) else { panic!("the first one waits") };
        permit.unwrap().forget();
        gate.leave(Again::Alone);
        assert!(second.poll(&mut context).is_ready());
    }

    /// The entries inside: those alone, and those that share.
    type Inside = Mutex<[u32; 2]>;

    /// Enters a few times, in ways that are left to chance.
    async fn visit(gate: Arc<Gate>, inside: Arc<Inside>) {
        for _ in 0..3 {
            let mut chance = shuttle::rand::thread_rng();
            let again = if chance.gen_bool(0.5) { Again::Alone } else { Again::Shared };
            let (waits, gives_up) = (chance.gen_bool(0.7), chance.gen_bool(0.3));
            if !gate.admit(again) && (!waits || !has_waited(&gate, again, gives_up).await) {
                continue;
            }
            let side = usize::from(again == Again::Shared);
            {
                let mut inside = inside.lock().unwrap();
                inside[side] += 1;
                let [alone, sharing] = *inside;
                assert!(alone <= 1 && (alone == 0 || sharing == 0), "{alone} alone beside {sharing}");
            }
            yield_now().await;
            inside.lock().unwrap()[side] -= 1;
            gate.leave(again);
        }
    }

    async fn has_waited(gate: &Gate, again: Again, gives_up: bool) -> bool {
        let mut permit = pin!(gate.queue().acquire_many(again.permits()));
        if gives_up {
            let Poll::Ready(permit) = futures_util::poll!(&mut permit) else { return false };
            permit.unwrap().forget();
        } else {
            permit.await.unwrap().forget();
        }
        true
    }

    fn explore(scheduler: impl Scheduler + 'static) {
        // `shuttle` may run another task before each use of one of its atomics.
        let point = || {
            AtomicBool::new(false).load(Ordering::SeqCst);
        };
        let schedule = Schedule { point, spawn: |task| drop(spawn(task)) };
        let mut config = shuttle::Config::new();
        // An entry that waits forever has been forgotten.
        config.max_steps = MaxSteps::FailAfter(100_000);
        let perform = async || {
            let (gate, inside) = (Arc::new(Gate::default()), Arc::new(Inside::default()));
            let visitors = [(); 4].map(|()| spawn(visit(gate.clone(), inside.clone())));
            for visitor in visitors {
                visitor.await.unwrap();
            }
            assert!(gate.admit(Again::Alone), "a permit was lost: {gate:?}");
            assert!(!gate.admit(Again::Shared), "a permit was made: {gate:?}");
        };
        schedule.run(|| {
            shuttle::Runner::new(scheduler, config).run(move || block_on(perform()));
        });
    }

    #[test]
    fn entries_exclude_each_other_and_none_is_forgotten_in_any_schedule() {
        explore(RandomScheduler::new(SCHEDULES));
        explore(PctScheduler::new(3, SCHEDULES));
    }

    /// The number of schedules of each kind.
    const SCHEDULES: usize = 3_000;
}
