//! A call that waits in line.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tokio::sync::oneshot;

use crate::acquire::Patience;
use crate::error::LockError;
use crate::events::Witness;
use crate::session::drive::Contention;

use super::call::{Call, CallId, Manner, Side};
use super::calls::{Answer, Caller, CallerLine, CallerServed, Cohort, News};
use super::grant::Grants;
use super::line::{Served, Turned};

impl Cohort {
    /// Waits in line for the lock.
    #[expect(clippy::manual_async_fn, reason = "the future of an `async fn` has its arguments twice")]
    pub(super) fn enter(
        self: Arc<Self>,
        side: Side,
        (patience, witness): (&(impl Fn() -> Patience + Sync), &Witness),
    ) -> impl Future<Output = Result<Option<Grants>, LockError>> + Send {
        async move {
            let mut before = None;
            loop {
                let (reply, answer) = oneshot::channel();
                let patience_now = patience();
                // Nobody is told that a call waits which does not.
                let news = News::of(witness).filter(|_| patience_now.contention == Contention::Wait);
                let (place, since) = before.unzip();
                let since = since.unwrap_or_else(Instant::now);
                let caller = Caller { reply, wait: patience_now.wait, since, news };
                let waiting = match self.arrive(side, patience_now, (place, caller)) {
                    Ok(id) => Waiting { cohort: &self, id, since },
                    Err(Turned::Contended) => return Ok(None),
                    Err(Turned::Closed) => return Err(self.closed()),
                };
                let answer = answer.await;
                before = Some((waiting.id, waiting.since));
                mem::forget(waiting);
                match answer {
                    Ok(Answer::Granted(grants)) => {
                        match grants.iter().find_map(|grant| grant.tenure().check().err()) {
                            None => {
                                // The thread that has sent the grants may not have told so yet. An end comes before
                                // the beginning of the next hold.
                                grants.iter().for_each(|grant| grant.stint().succeed());
                                return Ok(Some(grants));
                            }
                            // It was lost before the caller could see it, such as during a pause of the process. The
                            // call goes back to its place in line.
                            Some(lost) if patience().left().is_zero() => return Err(lost),
                            Some(_) => {}
                        }
                    }
                    Ok(Answer::Contended) => return Ok(None),
                    Ok(Answer::Failed(error)) => return Err(*error),
                    Err(_) => return Err(self.closed()),
                }
            }
        }
    }

    fn arrive(
        self: &Arc<Self>,
        side: Side,
        patience: Patience,
        (place, caller): (Option<CallId>, Caller),
    ) -> Result<CallId, Turned> {
        if self.worker.is_closing() {
            return Err(Turned::Closed);
        }
        let manner = match patience.contention {
            Contention::Wait => Manner::Wait,
            Contention::Leave => Manner::Try,
        };
        let (news, caller) = (caller.news.clone(), Some(caller));
        let arrived = self.change(|line, now| {
            let id = place.unwrap_or_else(|| line.id());
            let deadline = now.checked_add(patience.left());
            match line.arrive(Call { id, side, manner, deadline, caller }, now) {
                Ok(served) => {
                    let whom = match place {
                        None => self.to_tell(line, (id, news), &served),
                        // It need not be the last one.
                        Some(_) => {
                            self.has_untold.store(true, Ordering::Relaxed);
                            ToTell::All
                        }
                    };
                    (served, Ok((id, whom)))
                }
                Err(turned) => (Served::default(), Err(turned)),
            }
        });
        arrived.map(|(id, whom)| {
            self.tell(whom);
            id
        })
    }

    /// Tells the listeners of each call that waits how many contenders are in front of it, once.
    pub(super) fn tell_queued(&self) {
        if !self.worker.is_heard() {
            return;
        }
        let mut line = self.line();
        if !line.is_queued() {
            return;
        }
        self.has_untold.store(false, Ordering::Relaxed);
        let mut queued = Vec::new();
        for (ahead, caller) in line.queued() {
            queued.extend(caller.news.take().map(|news| (ahead, news)));
        }
        drop(line);
        for (ahead, news) in queued {
            news.tell(ahead);
        }
    }

    /// Finds the calls whose listeners are to be told after the arrival of this one: a walk along the line for each
    /// arrival would take long.
    pub(super) fn to_tell(
        &self,
        line: &mut CallerLine,
        (id, news): (CallId, Option<Arc<News>>),
        served: &CallerServed,
    ) -> ToTell {
        if !line.is_queued() {
            self.has_untold.fetch_or(news.is_some(), Ordering::Relaxed);
            return ToTell::Nobody;
        }
        if self.has_untold.load(Ordering::Relaxed) {
            return ToTell::All;
        }
        let is_granted = served.grants.iter().any(|granted| granted.call.id == id);
        let Some(news) = news.filter(|_| !is_granted) else { return ToTell::Nobody };
        // Drops the calls in front that are gone.
        line.oldest();
        let first = line.queued().next().map_or(0, |(ahead, _)| ahead);
        ToTell::Last(news, first + line.waiting().saturating_sub(1))
    }

    fn tell(&self, whom: ToTell) {
        match whom {
            ToTell::Nobody => {}
            ToTell::Last(news, ahead) => news.tell(ahead),
            ToTell::All => self.tell_queued(),
        }
    }
}

/// The calls whose listeners are to be told of their places.
pub(super) enum ToTell {
    Nobody,
    /// The last call in line, behind this many contenders.
    Last(Arc<News>, usize),
    All,
}

/// A call that waits in line, which leaves it when its future is dropped.
struct Waiting<'a> {
    cohort: &'a Arc<Cohort>,
    id: CallId,
    since: Instant,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.cohort.change(|line, now| (line.gone(self.id, now), ()));
    }
}
