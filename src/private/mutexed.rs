//! The body of an annotated function under its mutex, if it does not see the guard.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use zklock_core::{LockError, MutexBody, MutexGuard};

use super::Path;
use super::source::Source;
use super::taking::{Wait, first};

/// Takes the mutex of an annotated function, runs the body under it, and then releases the mutex. The body is dropped if the
/// lock is lost. A failure to release the mutex does not replace the body's result. `failed` converts other failures.
#[inline(always)]
pub fn run_mutexed<F: Future>(
    client: impl Source,
    path: &mut Path,
    wait: Wait,
    body: F,
    failed: impl FnOnce(LockError) -> F::Output,
) -> impl Future<Output = F::Output> {
    Mutexed { stage: Stage::Asked(client, path, wait), body: MutexBody::new(body), failed: Some(failed) }
}

pin_project! {
    /// One future for the mutex and for the body, because a body that enters the mutex again takes less time than to move
    /// what has been entered from one future to another.
    struct Mutexed<'a, S, F: Future, M> {
        stage: Stage<'a, S>,
        #[pin]
        body: MutexBody<F>,
        // `None` once it has been used.
        failed: Option<M>,
    }
}

enum Stage<'a, S> {
    Asked(S, &'a mut Path, Wait),
    /// Boxed, so that the futures of calls are small.
    Waits(Pin<Box<dyn Future<Output = Result<MutexGuard, LockError>> + Send>>),
    Runs,
}

impl<S: Source> Stage<'_, S> {
    /// Begins to take the mutex, unless that has begun. It is a function of its own, so that the way to enter again is inlined.
    #[inline(never)]
    fn begin(&mut self) -> Result<(), Box<LockError>> {
        if let Self::Asked(client, path, wait) = mem::replace(self, Self::Runs) {
            let path = mem::replace(path, Ok("".into()));
            *self = Self::Waits(first((client, path, wait), |asked| async move { asked.lock().await })?);
        }
        Ok(())
    }
}

impl<S: Source, F: Future, M: FnOnce(LockError) -> F::Output> Future for Mutexed<'_, S, F, M> {
    type Output = F::Output;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let failed = this.failed;
        let mut failed = |error| failed.take().expect(ENDED)(error);
        if let Stage::Asked(client, path, wait) = this.stage {
            // By reference, and before the path is validated: entering again takes less time than either.
            if let Ok(path) = &**path
                && wait.is_valid()
                && let Some(client) = client.id()
                && let Some(step) = this.body.as_mut().begin_again((client, path), context, &mut failed)
            {
                if step.is_pending() {
                    *this.stage = Stage::Runs;
                }
                return step;
            }
            if let Err(error) = this.stage.begin() {
                return Poll::Ready(failed(*error));
            }
        }
        if let Stage::Waits(taken) = this.stage {
            let taken = ready!(taken.as_mut().poll(context));
            *this.stage = Stage::Runs;
            match taken {
                Ok(guard) => this.body.as_mut().begin(guard),
                Err(error) => return Poll::Ready(failed(error)),
            }
        }
        this.body.poll(context, failed)
    }
}

const ENDED: &str = "a future is not polled after its end";
