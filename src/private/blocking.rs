//! The functions that generated code uses in a function that is not async: they wait by blocking the thread.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use futures_lite::future::block_on;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{block_in_place, coop};
use zklock_core::LockError;

use super::take::{Asked, Taking};

/// Takes the lock or the term of an annotated function.
///
/// # Errors
///
/// [`LockError::WouldBlockRuntime`] where the thread must not block, and those of the call.
pub fn wait<H>(taking: Taking<H>) -> Result<H, LockError> {
    let Asked { path, client: _client, taken } = taking.0?;
    block(taken).unwrap_or(Err(LockError::WouldBlockRuntime { path }))
}

/// Returns the body of an annotated function. The bound tells the compiler that the closure is called once.
pub fn body<T, F: FnOnce() -> T>(body: F) -> F {
    body
}

/// Gives the lock back after the body. Where blocking is not allowed, this drops the guard, which releases the lock in the
/// background.
pub fn finish(released: impl Future<Output = ()>) {
    block(released);
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
