//! The body of generated code under a mutex.

use std::convert;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::client::ClientId;
use crate::error::LockError;
use crate::events::HoldSpan;

use super::body::Body;
use super::entry::Entry;
use super::finishing::finish_ties;
use super::holds::Holds;
use super::inside::Inside;
use super::node::Ties;
use super::sought::Sought;
use super::stay::Stay;
use super::taken::Taken;

pin_project! {
    /// The body of generated code under a mutex whose guard it does not see.
    #[doc(hidden)]
    pub struct MutexBody<F: Future> {
        #[pin]
        body: Body<Taken, F>,
    }
}

impl<F: Future> MutexBody<F> {
    /// Returns a body that has not begun.
    #[inline(always)]
    pub fn new(body: F) -> Self {
        Self { body: Body::before(body) }
    }

    /// Begins the body, and takes its first step, inside of the mutex at this path, if the current call holds that mutex and
    /// nothing is in the way. Returns `None` otherwise.
    #[inline(always)]
    pub fn begin_again(
        self: Pin<&mut Self>,
        (client, path): (ClientId, &str),
        context: &mut Context<'_>,
        failed: impl FnOnce(LockError) -> F::Output,
    ) -> Option<Poll<F::Output>> {
        let Some(stay) = Stay::begin(client, path) else {
            let inside = Inside::enter(Sought::new(client, path, Entry::Mutex))?;
            return Some(self.run_inside(inside, context, failed));
        };
        let mut body = self.project().body;
        let span = stay.span();
        let step = {
            let _spanned = span.as_ref().map(|span| span.span().enter());
            body.as_mut().first_step(context)
        };
        if step.is_pending() {
            return Some(go_on(body, (stay, span), context, failed));
        }
        drop(span);
        if let Err(lost) = stay.check() {
            drop(step);
            drop(stay);
            return Some(Poll::Ready(failed(lost)));
        }
        match stay.end() {
            // In the place where it is: to move it takes longer than to enter the mutex.
            None => Some(step),
            Some(ties) => Some(finish(body, ties, step, context)),
        }
    }

    /// Begins the body inside of a mutex that was entered again, and takes its first step.
    #[inline(never)]
    fn run_inside(
        self: Pin<&mut Self>,
        inside: Inside,
        context: &mut Context<'_>,
        failed: impl FnOnce(LockError) -> F::Output,
    ) -> Poll<F::Output> {
        let mut body = self.project().body;
        body.as_mut().begin(Taken::Again(inside));
        body.run(context, convert::identity, failed)
    }

    /// Begins the body under the holds of the mutex.
    pub(crate) fn begin_under(self: Pin<&mut Self>, holds: Holds) {
        self.project().body.begin(Taken::First(Box::new(holds)));
    }

    /// Takes a step of the body. After the last one, gives the mutex back as [`finish`](super::finish) does.
    pub fn poll(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        failed: impl FnOnce(LockError) -> F::Output,
    ) -> Poll<F::Output> {
        self.project().body.run(context, convert::identity, failed)
    }
}

impl<F: Future> fmt::Debug for MutexBody<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutexBody").finish_non_exhaustive()
    }
}

/// Lets a body wait after its first step.
#[inline(never)]
fn go_on<F: Future>(
    mut body: Pin<&mut Body<Taken, F>>,
    (stay, span): (Stay, Option<Arc<HoldSpan>>),
    context: &mut Context<'_>,
    failed: impl FnOnce(LockError) -> F::Output,
) -> Poll<F::Output> {
    body.as_mut().go_on(Taken::Again(stay.go_on()), span);
    body.wait(context).map(failed)
}

/// Ends a body after its last step, with these ties, which end with it.
#[inline(never)]
fn finish<F: Future>(
    body: Pin<&mut Body<Taken, F>>,
    ties: Arc<Ties>,
    step: Poll<F::Output>,
    context: &mut Context<'_>,
) -> Poll<F::Output> {
    let value = ready!(step);
    body.finish(finish_ties(ties), value, context)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{pending, poll_fn};
    use std::panic::AssertUnwindSafe;
    use std::pin::pin;

    use futures_util::FutureExt;
    use futures_util::future::lazy;
    use futures_util::poll;
    use tokio::sync::oneshot;
    use tokio::task::yield_now;
    use zklock_testkit::EmbeddedServer;

    use super::*;
    use crate::hold::entry::Again;
    use crate::hold::inherit;
    use crate::{Client, Config, LossReason, Member, MutexGuard, held};

    struct Scene {
        client: Client,
        stranger: Client,
        _server: EmbeddedServer,
    }

    impl Scene {
        /// Returns two clients, of which the first one holds the mutex at `/a`.
        async fn new() -> (Self, MutexGuard) {
            let server = EmbeddedServer::start().unwrap();
            let [client, stranger] = [(); 2].map(|()| Config::new(server.connect_string()).connect());
            let (client, stranger) = (client.await.unwrap(), stranger.await.unwrap());
            let guard = client.mutex("/a").unwrap().lock().await.unwrap();
            (Self { client, stranger, _server: server }, guard)
        }

        /// Runs a body inside of the mutex, which the current call holds.
        async fn again<T>(&self, body: impl Future<Output = T>) -> Result<T, LockError> {
            self.again_or(async { Ok(body.await) }, Err).await
        }

        /// Runs such a body, and converts a loss.
        async fn again_or<T>(&self, body: impl Future<Output = T>, failed: impl Fn(LockError) -> T) -> T {
            let mut run = pin!(MutexBody::new(body));
            let mut begins = Some((self.client.id(), "/a"));
            let step = |context: &mut Context<'_>| match begins.take() {
                Some(path) => {
                    let step = run.as_mut().begin_again(path, context, &failed);
                    step.expect("the call holds the mutex, and nothing is in the way")
                }
                None => run.as_mut().poll(context, &failed),
            };
            poll_fn(step).await
        }

        /// Returns whether the call could enter the mutex again.
        fn is_open(&self) -> bool {
            Inside::enter(Sought::new(self.client.id(), "/a", Entry::Mutex)).is_some()
        }

        async fn is_free(&self) -> bool {
            self.stranger.mutex("/a").unwrap().try_lock().await.unwrap().is_some()
        }
    }

    #[tokio::test]
    async fn a_body_inside_finds_each_entry_around_it() {
        let (scene, guard) = Scene::new().await;
        let run = async {
            let below = scene.again(async { scene.again(async { held().len() }).await });
            assert_eq!(below.await.unwrap().unwrap(), 3);
            assert_eq!(scene.again(async { held().len() }).await.unwrap(), 2);
            assert_eq!(held().len(), 1);
        };
        guard.scope(run).await;
        assert!(!scene.is_open(), "the call does not hold the mutex");
    }

    #[tokio::test]
    async fn a_body_keeps_siblings_out_until_it_ends_or_is_dropped() {
        let (scene, guard) = Scene::new().await;
        let siblings = async {
            let (end, ends) = oneshot::channel::<()>();
            let mut body = pin!(scene.again(ends));
            assert!(poll!(&mut body).is_pending());
            assert!(!scene.is_open(), "a body is inside");
            end.send(()).unwrap();
            body.await.unwrap().unwrap();
            let mut body = Box::pin(scene.again(pending::<()>()));
            assert!(poll!(&mut body).is_pending());
            drop(body);
            assert!(scene.is_open());
        };
        guard.scope(siblings).await;
    }

    #[tokio::test]
    async fn a_body_that_panics_lets_siblings_in() {
        let (scene, guard) = Scene::new().await;
        let siblings = async {
            let panics = AssertUnwindSafe(scene.again(async { panic!("a bug of the user") })).catch_unwind();
            panics.await.expect_err("the body panics");
            assert!(scene.is_open());
            assert_eq!(held().len(), 1);
        };
        guard.scope(siblings).await;
    }

    #[tokio::test]
    async fn a_task_of_the_body_keeps_siblings_out_after_the_body() {
        let (scene, guard) = Scene::new().await;
        let mutex = scene.client.mutex("/a").unwrap();
        let siblings = async {
            let heir = scene.again(async { inherit(mutex.lock()).await }).await;
            assert!(!scene.is_open(), "what the body has entered is left");
            drop(heir.unwrap().unwrap());
            assert!(scene.is_open());
        };
        guard.scope(siblings).await;
    }

    #[tokio::test]
    async fn a_body_that_outlives_the_hold_around_it_gives_the_lock_back() {
        let (scene, guard) = Scene::new().await;
        let (end, ends) = oneshot::channel::<()>();
        let mut body = pin!(scene.again(ends));
        let begins = guard.scope(lazy(|_| assert!(body.as_mut().now_or_never().is_none())));
        begins.await;
        guard.release().await.unwrap();
        assert!(!scene.is_free().await, "the body holds the lock");
        end.send(()).unwrap();
        body.await.unwrap().unwrap();
        drop(scene.stranger.mutex("/a").unwrap().lock().await.expect("the lock was given back"));
    }

    #[tokio::test]
    async fn a_step_that_outlives_the_hold_around_it_gives_the_lock_back() {
        let (scene, guard) = Scene::new().await;
        let held = Cell::new(None);
        let scope = guard.scope(async {
            // The entry before this one leaves its ties to the hold.
            scene.again(async {}).await.unwrap();
            scene.again(async { drop(held.take()) }).await
        });
        held.set(Some(guard));
        scope.await.unwrap();
        drop(scene.stranger.mutex("/a").unwrap().lock().await.expect("the lock was given back"));
    }

    #[tokio::test]
    async fn a_body_finds_the_mutex_among_others_that_were_taken_with_it() {
        let (scene, guard) = Scene::new().await;
        guard.release().await.unwrap();
        let members = ["/a", "/b"].map(Member::mutex);
        let all = scene.client.multi(members).unwrap().lock().await.unwrap();
        all.scope(async { assert_eq!(scene.again(async { held().len() }).await.unwrap(), 2) }).await;
    }

    #[tokio::test]
    async fn a_loss_is_converted_when_the_entry_has_ended() {
        for is_first_step in [true, false] {
            let (scene, guard) = Scene::new().await;
            let hold = &guard.holds()[0];
            let body = async {
                if !is_first_step {
                    yield_now().await;
                }
                hold.tenure().lose(LossReason::NodeDeleted);
                None
            };
            let ended = |_| Some((held().len(), hold.node().gate.admit(Again::Alone).is_some()));
            let told = guard.scope(async { scene.again_or(body, ended).await });
            assert_eq!(told.await, Some((1, true)));
        }
    }

    #[tokio::test]
    async fn a_body_does_not_begin_once_the_clock_ran_out_although_nobody_told_it() {
        let (scene, guard) = Scene::new().await;
        let has_begun = Cell::new(false);
        let late = lazy(|context| {
            let _out = guard.holds()[0].tenure().session().clock().run_out();
            let body = pin!(MutexBody::new(async {
                has_begun.set(true);
                Ok(())
            }));
            body.begin_again((scene.client.id(), "/a"), context, Err)
        });
        // The lock may be found lost meanwhile, and is not entered again then.
        match guard.scope(late).await {
            None => {}
            Some(Poll::Ready(Err(lost))) => assert!(lost.is_lost(), "{lost}"),
            Some(other) => panic!("{other:?}"),
        }
        assert!(!has_begun.get());
    }

    #[tokio::test]
    async fn a_body_takes_no_step_after_a_loss() {
        let (scene, guard) = Scene::new().await;
        let lost = async {
            let mut body = pin!(scene.again(pending::<()>()));
            assert!(poll!(&mut body).is_pending());
            let node = guard.holds()[0].tenure().lose(LossReason::NodeDeleted);
            assert_eq!(node, LossReason::NodeDeleted);
            assert!(body.await.unwrap_err().is_lost());
        };
        guard.scope(lost).await;
    }

    #[tokio::test]
    async fn a_body_that_ends_in_the_step_that_lost_the_lock_is_no_success() {
        let (scene, guard) = Scene::new().await;
        let lost = async {
            let body = async { guard.holds()[0].tenure().lose(LossReason::NodeDeleted) };
            assert!(scene.again(body).await.unwrap_err().is_lost());
        };
        guard.scope(lost).await;
    }
}
