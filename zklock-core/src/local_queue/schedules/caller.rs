//! The calls of a schedule.

use std::borrow::Cow;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use shuttle::future::spawn;

use crate::deadline::Deadline;
use crate::error::LockError;
use crate::event::Subject;
use crate::events::Attempt;
use crate::lease::{Share, WritePermit};
use crate::local_queue::grant::Grant;
use crate::local_queue::held::Mode;
use crate::local_queue::queue::LocalQueue;
use crate::session::drive::Contention;

use super::chance;
use super::desk::{Desk, Kind};

/// Calls a few times, in ways that are left to chance.
pub(super) async fn call(queue: Arc<LocalQueue>, desk: Arc<Desk>) {
    for _ in 0..3 {
        let mode = match desk.kind() {
            Kind::ReadWrite if !chance::one_in(3) => Mode::Shared,
            Kind::ReadWrite | Kind::Mutex | Kind::Semaphore { .. } => Mode::Exclusive,
        };
        let entered = pin!(enter_once(&queue, mode));
        let Some(entered) = Abandoned::perhaps(entered).await else { continue };
        match entered {
            Ok(Some(grant)) => hold(grant, &desk, mode).await,
            Ok(None) | Err(LockError::Timeout { .. } | LockError::Lost { .. } | LockError::Closed { .. }) => {
            }
            Err(other) => panic!("{other}"),
        }
    }
}

async fn enter_once(queue: &Arc<LocalQueue>, mode: Mode) -> Result<Option<Arc<Grant>>, LockError> {
    let deadline = match chance::below(6) {
        0 => Deadline::new(Duration::MAX, Contention::Leave),
        1 => Deadline::new(Duration::ZERO, Contention::Wait),
        _ => Deadline::new(Duration::MAX, Contention::Wait),
    };
    let subject = Subject {
        path: queue.path(),
        label: &Cow::Borrowed("a"),
        mode: crate::mode::Mode::Exclusive,
        group: None,
    };
    // It has no listener.
    let attempt = Attempt::begin(None, subject);
    let grants = queue.clone().enter(mode, (&|| deadline, &attempt.witness())).await?;
    let grant = grants.and_then(|mut grants| grants.pop());
    if let Some(grant) = &grant {
        attempt.acquired(grant.token(), 1).for_each(|holding| grant.share().announce(holding));
    }
    Ok(grant)
}

async fn hold(grant: Arc<Grant>, desk: &Arc<Desk>, mode: Mode) {
    desk.enter(&grant, mode);
    chance::pause().await;
    if chance::one_in(3) {
        // The holder may leave before the write has an answer, or before it is made.
        drop(spawn(write(grant.share().clone(), desk.clone())));
    }
    chance::pause().await;
    if mode == Mode::Exclusive && desk.kind() == Kind::ReadWrite && chance::one_in(4) {
        desk.downgrade(&grant);
        if chance::one_in(2) {
            drop(grant.downgrade());
        } else {
            Abandoned::perhaps(pin!(grant.downgrade())).await.map(Result::ok);
        }
        chance::pause().await;
    }
    if desk.is_gone(grant.lease()) {
        grant.lease().lost().await;
    }
    desk.leave(&grant);
    let grant = Arc::into_inner(grant).expect("it has one holder");
    match chance::below(4) {
        0 => drop(grant),
        1 => drop(grant.give_back()),
        2 => grant.give_back().handed_over().await,
        _ => {
            let release = grant.give_back();
            if release.has_to_yield() {
                chance::pause().await;
            }
            Abandoned::perhaps(pin!(release.done())).await.map(Result::ok);
        }
    }
}

/// Makes a guarded write in a task of its own.
async fn write(share: Arc<Share>, desk: Arc<Desk>) {
    chance::pause().await;
    // The holder may have let readers in since.
    let mode = desk.mode_of(&share);
    match WritePermit::take(&[share]) {
        Ok(permit) => desk.write(permit, mode).await.unwrap_or_default(),
        // The holder has given the lock back, or lost it.
        Err(LockError::Lost { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

/// A future that may be dropped after a few polls.
struct Abandoned<'a, F> {
    future: Pin<&'a mut F>,
    polls: usize,
}

impl<'a, F: Future> Abandoned<'a, F> {
    fn perhaps(future: Pin<&'a mut F>) -> Self {
        let polls = if chance::one_in(3) { chance::below(4) } else { usize::MAX };
        Self { future, polls }
    }
}

impl<F: Future> Future for Abandoned<'_, F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<F::Output>> {
        let Some(left) = self.polls.checked_sub(1) else { return Poll::Ready(None) };
        self.polls = left;
        let polled = self.future.as_mut().poll(context).map(Some);
        if polled.is_pending() && left == 0 {
            // The next poll is the one that abandons it.
            context.waker().wake_by_ref();
        }
        polled
    }
}
