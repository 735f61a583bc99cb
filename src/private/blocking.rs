//! The functions that generated code uses in a function that is not async: they wait by blocking the thread.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_lite::future::block_on;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{block_in_place, coop};
use zklock_core::{Guard, LockError, MultiGuard, MutexGuard, Permits, ReadGuard, SemaphoreGuard, WriteGuard};

use super::named::LockPath;
use super::source::Source;
use super::{Answer, Once, Path, Start, Term, Wait};

pub use zklock_core::Member;

/// Takes the mutex of an annotated function.
pub fn lock(client: impl Source, path: Path, wait: Wait) -> Result<MutexGuard, LockError> {
    let path = path?;
    block_for(&path, super::lock(client, Ok(path.clone()), wait))
}

/// Takes the read-write lock of an annotated function, for reading.
pub fn read(client: impl Source, path: Path, wait: Wait) -> Result<ReadGuard, LockError> {
    let path = path?;
    block_for(&path, super::read(client, Ok(path.clone()), wait))
}

/// Takes the read-write lock of an annotated function, for writing.
pub fn write(client: impl Source, path: Path, wait: Wait) -> Result<WriteGuard, LockError> {
    let path = path?;
    block_for(&path, super::write(client, Ok(path.clone()), wait))
}

/// Takes permits of the semaphore of an annotated function, all or none.
pub fn permits(
    client: impl Source,
    path: Path,
    permits: (u32, Permits),
    wait: Wait,
) -> Result<SemaphoreGuard, LockError> {
    let path = path?;
    block_for(&path, super::permits(client, Ok(path.clone()), permits, wait))
}

/// Takes all of the locks of an annotated function, or none. `member` selects the kind of each lock.
pub fn lock_all(
    client: impl Source,
    paths: impl AsRef<[Path]> + IntoIterator<Item = Path>,
    member: fn(String) -> Member,
    wait: Wait,
) -> Result<MultiGuard, LockError> {
    let path = paths.as_ref().first().cloned().transpose()?.map(LockPath::into_path).unwrap_or_default();
    block_for(&path, super::lock_all(client, paths, member, wait))
}

/// Takes the lock of a function unless its period is known to have begun, and begins the period.
pub fn begin<K>(
    once: Once,
    client: impl Source,
    taken: impl Future<Output = Result<Guard<K>, LockError>>,
) -> Start<Guard<K>> {
    let path = once.path().map(str::to_owned);
    let begun = path.and_then(|path| block_for(&path, async { Ok(super::begin(once, client, taken).await) }));
    begun.unwrap_or_else(Start::Failed)
}

/// Begins the period of a function that the leader runs.
pub fn begin_term(once: Once, term: Term) -> Start<Term> {
    let path = once.path().map(str::to_owned);
    let begun = path.and_then(|path| block_for(&path, async { Ok(super::begin_term(once, term).await) }));
    begun.unwrap_or_else(Start::Failed)
}

/// Returns the body of an annotated function. The bound tells the compiler that the closure is called once.
pub fn body<T, F: FnOnce() -> T>(body: F) -> F {
    body
}

/// Calls the body of an annotated function under its lock.
pub fn run<K, T>(held: &Guard<K>, body: impl FnOnce() -> T) -> Result<T, LockError> {
    held.run_blocking(body)
}

/// Releases the lock after the body; a failure does not replace the body's result.
pub fn release<K>(held: Guard<K>) {
    // Where blocking is not allowed, this drops the guard, which releases the lock in the background.
    block(async { held.finish().await });
}

/// Tells whether this replica leads. The first call joins the election; later calls answer from memory.
pub fn ask_to_lead(client: impl Source, path: Path) -> Answer {
    let asked = path
        .and_then(|path| block_for(&path, async { Ok(super::ask_to_lead(client, Ok(path.clone())).await) }));
    asked.unwrap_or_else(Answer::Failed)
}

/// Waits until this replica leads.
pub fn wait_to_lead(client: impl Source, path: Path, wait: Option<Duration>) -> Result<Term, LockError> {
    let path = path?;
    block_for(&path, super::wait_to_lead(client, Ok(path.clone()), wait))
}

/// Calls the body of an annotated function under its term.
pub fn lead<T>(term: &Term, body: impl FnOnce() -> T) -> Result<T, LockError> {
    term.leadership().run_blocking(body)
}

/// Waits for the answer about the lock at `path`, or fails where the thread must not block.
fn block_for<T>(path: &str, answer: impl Future<Output = Result<T, LockError>>) -> Result<T, LockError> {
    block(answer).unwrap_or_else(|| Err(LockError::WouldBlockRuntime { path: path.to_owned() }))
}

/// Waits on this thread. Where this would stop a runtime, returns `None` without polling the future.
fn block<T>(answer: impl Future<Output = T>) -> Option<T> {
    let place = Place::current();
    if let Place::OnlyThread = place {
        return None;
    }
    let mut answer = pin!(answer);
    // An answer from memory is ready at once, and then a worker need not hand over its other tasks.
    if let Poll::Ready(answer) = answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return Some(answer);
    }
    Some(match place {
        Place::Worker => block_in_place(|| block_on(answer)),
        Place::Thread | Place::OnlyThread => block_on(answer),
    })
}

/// The role of a thread in its runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A thread that may block, because it runs no tasks.
    Thread,
    /// A thread of a multi-thread runtime. It may block after handing over its other tasks.
    Worker,
    /// The only thread that runs the tasks of its runtime. It must not block.
    OnlyThread,
}

impl Place {
    fn current() -> Self {
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Err(_) => Self::Thread,
            Ok(RuntimeFlavor::MultiThread) => Self::Worker,
            Ok(_) if has_budget() => Self::OnlyThread,
            Ok(_) => Self::Thread,
        }
    }
}

/// Tells whether a runtime polls the caller, which only then has a budget from Tokio. Without this check, a
/// thread for blocking work of a current-thread runtime would look like the thread that runs its tasks.
fn has_budget() -> bool {
    let mut context = Context::from_waker(Waker::noop());
    if !coop::has_budget_remaining() {
        return true;
    }
    // Dropping this value restores the budget.
    let _restore = coop::poll_proceed(&mut context);
    for _ in 0..MORE_THAN_A_BUDGET {
        if !coop::has_budget_remaining() {
            return true;
        }
        if let Poll::Ready(spent) = coop::poll_proceed(&mut context) {
            spent.made_progress();
        }
    }
    false
}

/// More than Tokio's budget, which is 128.
const MORE_THAN_A_BUDGET: u32 = 1024;

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn, ready};

    use tokio::runtime::{Builder, Runtime};
    use tokio::task::yield_now;

    use super::*;

    fn current_thread() -> Runtime {
        Builder::new_current_thread().build().unwrap()
    }

    fn multi_thread() -> Runtime {
        Builder::new_multi_thread().worker_threads(1).build().unwrap()
    }

    async fn here() -> Place {
        Place::current()
    }

    #[test]
    fn a_thread_may_block_unless_it_runs_tasks() {
        assert_eq!(Place::current(), Place::Thread);
        let (current_thread, multi_thread) = (current_thread(), multi_thread());
        for runtime in [&current_thread, &multi_thread] {
            assert_eq!(runtime.block_on(runtime.spawn_blocking(|| block(yield_now()))).unwrap(), Some(()));
            let _inside = runtime.enter();
            assert_eq!(block(yield_now()), Some(()));
        }
        let elsewhere = current_thread.spawn_blocking(Place::current);
        assert_eq!(current_thread.block_on(elsewhere).unwrap(), Place::Thread);
        let _inside = current_thread.enter();
        assert_eq!(Place::current(), Place::Thread);
    }

    #[test]
    fn a_worker_hands_its_other_tasks_on() {
        let runtime = multi_thread();
        assert_eq!(runtime.block_on(here()), Place::Worker);
        assert_eq!(runtime.block_on(runtime.spawn(here())).unwrap(), Place::Worker);
        let (told, answer) = tokio::sync::oneshot::channel();
        let waits = runtime.spawn(async {
            tokio::spawn(async { told.send(7) });
            block(answer)
        });
        assert_eq!(runtime.block_on(waits).unwrap(), Some(Ok(7)));
    }

    #[test]
    fn the_only_thread_that_runs_tasks_does_not_block_even_for_what_is_there() {
        let runtime = current_thread();
        assert_eq!(runtime.block_on(here()), Place::OnlyThread);
        assert_eq!(runtime.block_on(runtime.spawn(here())).unwrap(), Place::OnlyThread);
        runtime.block_on(async {
            assert_eq!(block(ready(7)), None);
            assert_eq!(block(pending::<()>()), None);
        });
        let local = tokio::task::LocalSet::new();
        assert_eq!(local.block_on(&runtime, here()), Place::OnlyThread);
    }

    #[test]
    fn to_ask_whether_to_block_costs_a_task_none_of_its_budget() {
        /// Spends the whole budget and returns its size.
        fn spend(context: &mut Context<'_>) -> u32 {
            let mut spent = 0;
            while let Poll::Ready(one) = coop::poll_proceed(context) {
                one.made_progress();
                spent += 1;
            }
            spent
        }
        let spent = poll_fn(|context| {
            assert_eq!(Place::current(), Place::OnlyThread);
            let spent = spend(context);
            assert!(!coop::has_budget_remaining());
            assert_eq!(Place::current(), Place::OnlyThread);
            assert!(!coop::has_budget_remaining());
            Poll::Ready(spent)
        });
        let all = current_thread().block_on(poll_fn(|context| Poll::Ready(spend(context))));
        assert_eq!(current_thread().block_on(spent), all);
        assert!((1..MORE_THAN_A_BUDGET).contains(&all));
    }
}
