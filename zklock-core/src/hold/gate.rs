//! Admits the entries inside of a hold.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crossbeam_utils::atomic::AtomicCell;
use tokio::sync::Semaphore;

use crate::interleaving;

use super::entry::Again;

/// Admits one entry at a time, or several that share the hold. `T` are the ties of the hold, which each entry keeps.
///
/// Until an entry has to wait, one number is all that there is. The first entry that has to wait makes a semaphore, which
/// counts from then on: it serves those that wait in the order in which they came, and later entries behind them.
///
/// An entry alone can leave its ties here as the *pass*, together with its permits. The next entry takes the pass: this is one
/// change of a shared value, where the permits and the ties would each be one.
pub(super) struct Gate<T> {
    /// The number of permits that are taken, those of the pass included, or [`QUEUED`].
    taken: AtomicU32,
    /// The permits that are free, from the first wait on.
    queue: OnceLock<Arc<Semaphore>>,
    /// The ties that the last entry alone has left, which have all permits.
    pass: AtomicCell<Option<Arc<T>>>,
    is_over: AtomicBool,
}

/// The way in which an entry was admitted.
#[derive(Debug)]
pub(super) enum Admitted<T> {
    /// The entry has its permits, and needs ties of its own.
    Counted,
    /// The entry has its permits, and these ties.
    ByPass(Arc<T>),
}

/// The number of permits of a hold, which an entry alone takes.
const ALL: u32 = Again::Alone.permits();
/// The value that says that the semaphore counts.
const QUEUED: u32 = 1 << 31;

impl<T> Gate<T> {
    /// Admits an entry if none is in its way, and none waits. It may refuse an entry while the hold ends.
    #[inline(always)]
    pub(super) fn admit(&self, again: Again) -> Option<Admitted<T>> {
        let admitted = |taken| Some(taken + again.permits()).filter(|sum| *sum <= ALL);
        match self.change(admitted) {
            Ok(_) => Some(Admitted::Counted),
            Err(ALL) => self.admit_by_pass(again).map(Admitted::ByPass),
            Err(QUEUED) => {
                let permit = self.free().try_acquire_many(again.permits()).ok()?;
                permit.forget();
                Some(Admitted::Counted)
            }
            Err(_) => None,
        }
    }

    /// Admits an entry if the pass is here.
    #[inline(always)]
    fn admit_by_pass(&self, again: Again) -> Option<Arc<T>> {
        interleaving::point();
        let pass = self.pass.take()?;
        if again != Again::Alone {
            self.give_back(ALL - again.permits());
        }
        Some(pass)
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
            drop(self.withdraw());
        }
        queue
    }

    /// Takes note of the end of an entry.
    #[inline]
    pub(super) fn leave(&self, again: Again) {
        self.give_back(again.permits());
    }

    /// Takes note of the end of an entry alone, and keeps its ties for the next one. Returns them if they are of no use here,
    /// because an entry waits or the hold has ended.
    #[inline]
    pub(super) fn leave_pass(&self, ties: Arc<T>) -> Option<Arc<T>> {
        interleaving::point();
        // Not a store: both sides exchange the pass, and so the later exchange sees what the other side did before. It
        // sees that an entry waits, or that the hold has ended, or the other side has found the pass.
        drop(self.pass.swap(Some(ties)));
        interleaving::point();
        match self.taken.load(Ordering::Acquire) == QUEUED || self.is_over() {
            true => self.withdraw(),
            false => None,
        }
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Takes note of the end of the hold, and returns the pass. The gate keeps none any more. It still admits entries.
    pub(super) fn end(&self) -> Option<Arc<T>> {
        self.is_over.store(true, Ordering::Release);
        self.withdraw()
    }

    /// Removes the pass, and gives its permits back.
    fn withdraw(&self) -> Option<Arc<T>> {
        interleaving::point();
        let pass = self.pass.take()?;
        self.give_back(ALL);
        Some(pass)
    }

    #[inline]
    fn give_back(&self, permits: u32) {
        if self.change(|taken| Some(taken - permits)).is_err() {
            self.free().add_permits(permits as usize);
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

impl<T> Default for Gate<T> {
    fn default() -> Self {
        Self {
            taken: AtomicU32::new(0),
            queue: OnceLock::new(),
            pass: AtomicCell::new(None),
            is_over: AtomicBool::new(false),
        }
    }
}

impl<T> fmt::Debug for Gate<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { taken, queue, is_over, .. } = self;
        let mut gate = f.debug_struct("Gate");
        gate.field("taken", taken).field("queue", queue).field("is_over", is_over).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Weak;
    use std::task::{Context, Poll, Waker};

    use shuttle::MaxSteps;
    use shuttle::future::{block_on, spawn, yield_now};
    use shuttle::rand::Rng;
    use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
    use shuttle::sync::Mutex;
    use shuttle::sync::atomic::AtomicBool;

    use super::*;
    use crate::interleaving::Schedule;

    /// The ties of a hold.
    type Ties = ();

    fn admits(gate: &Gate<Ties>, again: Again) -> bool {
        gate.admit(again).is_some()
    }

    fn is_admitted(gate: &Gate<Ties>, again: Again) -> bool {
        let is_admitted = admits(gate, again);
        if is_admitted {
            gate.leave(again);
        }
        is_admitted
    }

    #[track_caller]
    fn admitted_by_pass(gate: &Gate<Ties>, again: Again) -> Arc<Ties> {
        match gate.admit(again) {
            Some(Admitted::ByPass(ties)) => ties,
            other => panic!("{other:?} by {gate:?}"),
        }
    }

    /// Checks who is inside before a semaphore counts, and afterwards.
    #[test]
    fn one_is_inside_alone_or_several_share() {
        let gate = Gate::default();
        for _ in 0..2 {
            assert!(admits(&gate, Again::Shared) && admits(&gate, Again::Shared));
            assert!(!is_admitted(&gate, Again::Alone));
            gate.leave(Again::Shared);
            assert!(!is_admitted(&gate, Again::Alone));
            gate.leave(Again::Shared);
            assert!(admits(&gate, Again::Alone));
            assert!(!is_admitted(&gate, Again::Alone) && !is_admitted(&gate, Again::Shared));
            gate.leave(Again::Alone);
            gate.queue();
        }
    }

    #[test]
    fn those_that_share_are_as_many_as_there_are_permits() {
        let gate = Gate::default();
        assert!((0..ALL).all(|_| admits(&gate, Again::Shared)));
        assert!(!admits(&gate, Again::Shared));
        gate.queue();
        assert!(!admits(&gate, Again::Shared));
        gate.leave(Again::Shared);
        assert!(admits(&gate, Again::Shared) && !admits(&gate, Again::Shared));
    }

    #[test]
    fn an_entry_that_could_share_waits_behind_one_that_waits_to_be_alone() {
        let gate = Gate::default();
        assert!(admits(&gate, Again::Shared));
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

    #[test]
    fn an_entry_alone_leaves_its_ties_to_the_next_one() {
        let (gate, ties) = (Gate::default(), Arc::new(()));
        assert!(admits(&gate, Again::Alone));
        assert!(gate.leave_pass(ties.clone()).is_none());
        let left = admitted_by_pass(&gate, Again::Alone);
        assert!(Arc::ptr_eq(&left, &ties));
        assert!(!admits(&gate, Again::Alone) && !admits(&gate, Again::Shared));
        assert!(gate.leave_pass(left).is_none());
        drop(admitted_by_pass(&gate, Again::Shared));
        assert!(admits(&gate, Again::Shared) && !admits(&gate, Again::Alone));
        gate.leave(Again::Shared);
        gate.leave(Again::Shared);
        assert!(is_admitted(&gate, Again::Alone));
        assert_eq!(Arc::strong_count(&ties), 1);
    }

    #[test]
    fn an_entry_that_waits_gets_the_permits_of_the_pass() {
        let (gate, ties) = (Gate::default(), Arc::new(()));
        assert!(admits(&gate, Again::Alone));
        assert!(gate.leave_pass(ties.clone()).is_none());
        gate.queue().try_acquire_many(Again::Alone.permits()).unwrap().forget();
        assert_eq!(Arc::strong_count(&ties), 1);
        assert!(!is_admitted(&gate, Again::Alone));
        assert!(gate.leave_pass(ties).is_some(), "an entry has waited");
        assert!(is_admitted(&gate, Again::Alone));
    }

    #[test]
    fn a_hold_that_has_ended_keeps_no_ties() {
        let (gate, ties) = (Gate::default(), Arc::new(()));
        assert!(gate.end().is_none() && gate.is_over());
        assert!(admits(&gate, Again::Alone));
        assert!(gate.leave_pass(ties.clone()).is_some());
        assert!(is_admitted(&gate, Again::Alone));

        let gate = Gate::default();
        assert!(admits(&gate, Again::Alone) && gate.leave_pass(ties.clone()).is_none());
        assert!(gate.end().is_some_and(|left| Arc::ptr_eq(&left, &ties)));
        assert!(is_admitted(&gate, Again::Alone));
    }

    /// The entries inside: those alone, and those that share.
    type Inside = Mutex<[u32; 2]>;

    /// Enters a few times, in ways that are left to chance.
    async fn visit((gate, hold): (Arc<Gate<Ties>>, Weak<Ties>), inside: Arc<Inside>, odds_of_waiting: f64) {
        for _ in 0..3 {
            let mut chance = shuttle::rand::thread_rng();
            let again = if chance.gen_bool(0.5) { Again::Alone } else { Again::Shared };
            let [waits, gives_up, passes] = [odds_of_waiting, 0.3, 0.7].map(|odds| chance.gen_bool(odds));
            let ties = match gate.admit(again) {
                Some(Admitted::ByPass(ties)) => Some(ties),
                Some(Admitted::Counted) => hold.upgrade(),
                None if waits && has_waited(&gate, again, gives_up).await => hold.upgrade(),
                None => continue,
            };
            let side = usize::from(again == Again::Shared);
            {
                let mut inside = inside.lock().unwrap();
                inside[side] += 1;
                let [alone, sharing] = *inside;
                assert!(alone <= 1 && (alone == 0 || sharing == 0), "{alone} alone beside {sharing}");
            }
            yield_now().await;
            inside.lock().unwrap()[side] -= 1;
            match ties {
                Some(ties) if again == Again::Alone && passes => drop(gate.leave_pass(ties)),
                _ => gate.leave(again),
            }
        }
    }

    async fn has_waited(gate: &Gate<Ties>, again: Again, gives_up: bool) -> bool {
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
            let ties = Arc::new(());
            let hold = Arc::downgrade(&ties);
            // Once an entry has waited, no pass is left.
            let odds_of_waiting = if shuttle::rand::thread_rng().gen_bool(0.5) { 0.7 } else { 0.0 };
            let visit = || visit((gate.clone(), hold.clone()), inside.clone(), odds_of_waiting);
            let visitors = [(); 4].map(|()| spawn(visit()));
            let ends = spawn({
                let gate = gate.clone();
                async move {
                    yield_now().await;
                    drop((gate.end(), ties));
                }
            });
            for visitor in visitors {
                visitor.await.unwrap();
            }
            ends.await.unwrap();
            assert_eq!(hold.strong_count(), 0, "a hold that has ended keeps its ties: {gate:?}");
            assert!(admits(&gate, Again::Alone), "a permit was lost: {gate:?}");
            assert!(!admits(&gate, Again::Shared), "a permit was made: {gate:?}");
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
    const SCHEDULES: usize = if cfg!(soak) { 3_000 } else { 300 };
}
