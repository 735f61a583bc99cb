//! The life of one call's attempt, or of one candidate.
//!
//! Each part of a life is a value, and its methods that end the part consume it. A part that is dropped without a
//! word tells its end as well: an attempt is cancelled, a hold is lost, a candidate has withdrawn. So each end is told
//! exactly once. Nothing is allocated if nobody listens when the life begins, and nothing is counted.

use std::borrow::Cow;
use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{LockError, LossReason};
use crate::interleaving;
use crate::mode::Mode;
use crate::path::NodePath;
use crate::token::FencingToken;

use super::course::{Being, Course, Parting};
use super::event::{LockEvent, LockEventKind};
use super::hub::Hub;
#[cfg(feature = "metrics")]
use super::meter::Series;
use super::outcome::Outcome;
use super::spans::WaitSpan;
use super::subject::Subject;

/// An attempt that waits. Dropping it tells that it was cancelled.
#[derive(Debug)]
#[must_use = "an attempt that is dropped is cancelled"]
pub(crate) struct Attempt {
    life: Option<Arc<Life>>,
    span: WaitSpan,
}

/// A candidate in its election. Dropping it tells that it has withdrawn.
#[derive(Debug)]
#[must_use = "a candidate that is dropped has withdrawn"]
pub(crate) struct Candidacy(Option<Arc<Life>>);

/// The hold of one node, of an attempt that has acquired it or of an elected candidate. Dropping it tells that it was
/// lost with the session.
#[derive(Debug)]
#[must_use = "a hold that is dropped is lost"]
pub(crate) struct Holding(Option<Arc<Life>>);

/// An observer of a life, which tells what happens to it before its end.
#[derive(Clone, Debug)]
pub(crate) struct Witness(Option<Arc<Life>>);

#[derive(Debug)]
struct Life {
    hub: Hub,
    id: u64,
    path: NodePath,
    label: Cow<'static, str>,
    mode: Mode,
    group: Option<u64>,
    being: Being,
    course: Mutex<Course>,
    #[cfg(feature = "metrics")]
    series: Arc<Series>,
}

impl Attempt {
    /// Begins an attempt. Without a hub, it tells the listeners nothing.
    pub(crate) fn begin(hub: Option<Hub>, subject: Subject<'_>) -> Self {
        let span = WaitSpan::begin(&subject);
        Self { life: hub.map(|hub| Life::begin(hub, subject, Being::Attempt)), span }
    }

    pub(crate) fn witness(&self) -> Witness {
        Witness(self.life.clone())
    }

    /// Ends the wait with a hold of this many nodes, and returns the holds of each. `token` is that of the call.
    pub(crate) fn acquired(mut self, token: FencingToken, nodes: usize) -> impl Iterator<Item = Holding> {
        let life = self.life.take();
        if let Some(life) = &life {
            life.change(|course| course.holds(Being::Attempt, token, nodes));
        }
        self.span.acquired(token);
        iter::repeat_with(move || Holding(life.clone())).take(nodes)
    }

    /// Ends an attempt that does not wait.
    pub(crate) fn contended(mut self) {
        self.end(|waited| LockEventKind::Contended { waited });
        self.span.contended();
    }

    /// Ends the attempt with the error of its call.
    pub(crate) fn failed(mut self, error: &LockError) {
        self.end(|waited| {
            let (outcome, error) = (Outcome::of(error), error.clone());
            match outcome {
                Outcome::TimedOut => LockEventKind::TimedOut { waited, error },
                Outcome::Refused => LockEventKind::Refused { waited, error },
                _ => LockEventKind::Failed { waited, error },
            }
        });
        self.span.failed(error);
    }

    fn end(&mut self, kind: impl FnOnce(Duration) -> LockEventKind) {
        if let Some(life) = self.life.take() {
            life.change(|course| course.ends(kind));
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.end(|waited| LockEventKind::Cancelled { waited });
    }
}

impl Candidacy {
    /// Joins an election. Without a hub, the candidate tells nothing.
    pub(crate) fn begin(hub: Option<Hub>, subject: Subject<'_>) -> Self {
        Self(hub.map(|hub| Life::begin(hub, subject, Being::Candidate)))
    }

    pub(crate) fn witness(&self) -> Witness {
        Witness(self.0.clone())
    }

    /// Begins a term.
    pub(crate) fn elected(&self, token: FencingToken) -> Holding {
        if let Some(life) = &self.0 {
            life.change(|course| course.holds(Being::Candidate, token, 1));
        }
        Holding(self.0.clone())
    }

    /// Tells that the servers have refused the candidate.
    pub(crate) fn rejected(&self, error: &LockError) {
        if let Some(life) = &self.0 {
            life.change(|course| course.waits(LockEventKind::Rejected { error: error.clone() }));
        }
    }
}

impl Drop for Candidacy {
    fn drop(&mut self) {
        if let Some(life) = &self.0 {
            life.change(|course| {
                // A term that is not over by now ended with the client's thread.
                course.parts(Being::Candidate, Parting::Lost(LossReason::SessionEnded));
                course.ends(|_| LockEventKind::Withdrawn);
            });
        }
    }
}

impl Holding {
    /// Counts the node of this hold, under which nobody has held the lock before.
    pub(crate) fn takes_turn(&self) {
        #[cfg(feature = "metrics")]
        if let Some(life) = &self.0 {
            life.series.note_turn();
        }
    }

    pub(crate) fn witness(&self) -> Witness {
        Witness(self.0.clone())
    }

    pub(crate) fn released(mut self) {
        self.part(Parting::Released);
    }

    /// Ends the hold of a call whose lock another call of the client has now.
    pub(crate) fn passed_on(mut self) {
        self.part(Parting::PassedOn);
    }

    pub(crate) fn lost(mut self, reason: LossReason) {
        self.part(Parting::Lost(reason));
    }

    pub(crate) fn release_failed(mut self, error: &LockError) {
        self.part(Parting::Failed(error.clone()));
    }

    fn part(&mut self, parting: Parting) {
        if let Some(life) = self.0.take() {
            life.change(|course| course.parts(life.being, parting));
        }
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.part(Parting::Lost(LossReason::SessionEnded));
    }
}

impl Witness {
    /// Returns whether somebody listened when the life began.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.as_ref().is_some_and(|life| life.hub.is_heard())
    }

    pub(crate) fn queued(&self, ahead: usize) {
        if let Some(life) = &self.0 {
            life.change(|course| course.waits(LockEventKind::Queued { ahead }));
        }
    }

    pub(crate) fn suspended(&self) {
        self.meanwhile(|fencing_token| LockEventKind::Suspended { fencing_token });
    }

    pub(crate) fn confirmed(&self) {
        self.meanwhile(|fencing_token| LockEventKind::Confirmed { fencing_token });
    }

    pub(crate) fn downgraded(&self) {
        self.meanwhile(|fencing_token| LockEventKind::Downgraded { fencing_token });
    }

    fn meanwhile(&self, kind: impl FnOnce(FencingToken) -> LockEventKind) {
        if let Some(life) = &self.0 {
            life.change(|course| course.meanwhile(kind));
        }
    }
}

impl Life {
    fn begin(hub: Hub, subject: Subject<'_>, being: Being) -> Arc<Self> {
        let Subject { path, label, mode, group } = subject;
        let life = Self {
            id: hub.new_id(),
            path: path.clone(),
            label: label.clone(),
            mode,
            group,
            being,
            course: Mutex::new(Course::begin()),
            #[cfg(feature = "metrics")]
            series: hub.meter().series((label.as_ref(), mode)),
            hub,
        };
        life.change(|_| {});
        Arc::new(life)
    }

    /// Makes a change, and sends the events that follow from it, without the mutex and in the order of the changes.
    fn change(&self, change: impl FnOnce(&mut Course)) {
        let mut course = self.course();
        change(&mut course);
        if !course.may_send() {
            return;
        }
        while let Some(kind) = course.next() {
            drop(course);
            #[cfg(feature = "metrics")]
            self.series.note(&kind);
            if self.hub.is_heard() {
                self.hub.send(self.event(kind));
            }
            course = self.course();
        }
    }

    fn event(&self, kind: LockEventKind) -> LockEvent {
        LockEvent {
            id: self.id,
            path: self.path.relative().to_owned(),
            label: self.label.clone(),
            mode: self.mode,
            group: self.group,
            missed: 0,
            kind,
        }
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        interleaving::point();
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
