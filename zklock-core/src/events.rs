//! The events of a client's locks and candidates, for logs, metrics and tests.
//!
//! [`Attempt`], [`Candidacy`] and [`Holding`] are the parts of a call or of a candidate. The methods that end a part consume
//! it. The drop of a part tells its end as well: an attempt is cancelled, a hold is lost, a candidate has withdrawn. So each
//! end is told exactly once. Nothing is allocated if nobody listens at the beginning, and nothing is counted.
//!
//! * [`spans`]: the spans of calls for `tracing`, which are those of their callers' tasks.

mod spans;

use std::collections::VecDeque;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;
use tokio_stream::{Stream, StreamExt};
use tracing::Span;
use tracing::field::display;

use crate::change::Mutex;
use crate::error::{LockError, LossReason};
use crate::event::{LockEvent, LockEventKind, Outcome, Subject};
#[cfg(feature = "metrics")]
use crate::metrics::{Counters, LockCounters};
use crate::mode::Mode;
use crate::path::NodePath;
use crate::token::FencingToken;

pub(crate) use self::spans::HoldSpan;

/// The events of a client's locks and candidates, from the call of [`Client::events`](crate::Client::events) until
/// the client is gone.
///
/// It is also a `Stream` of the crate `futures`. A slow listener misses the oldest events. Each event has the number
/// of those that were [missed](LockEvent::missed) right before it, and [`missed`](Self::missed) counts all of them. A
/// slow listener delays neither the locks nor other listeners.
///
/// # Examples
///
/// ```no_run
/// # async fn example(client: zklock_core::Client) {
/// let mut events = client.events();
/// tokio::spawn(async move {
///     while let Some(event) = events.next().await {
///         println!("{} {}: {:?}", event.id, event.path, event.kind);
///     }
/// });
/// # }
/// ```
#[derive(Debug)]
pub struct Events {
    stream: BroadcastStream<LockEvent>,
    missed: u64,
    /// The number of events missed since the last one was returned.
    gap: u64,
    _listener: Arc<()>,
}

impl Events {
    /// Waits for the next event; `None` after the client is gone.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn next(&mut self) -> Option<LockEvent> {
        StreamExt::next(self).await
    }

    /// Returns the number of events missed so far, because more than 1024 were waiting to be taken.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

impl Stream for Events {
    type Item = LockEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<LockEvent>> {
        loop {
            match ready!(Pin::new(&mut self.stream).poll_next(context)) {
                Some(Ok(event)) => {
                    let missed = std::mem::take(&mut self.gap);
                    return Poll::Ready(Some(LockEvent { missed, ..event }));
                }
                Some(Err(BroadcastStreamRecvError::Lagged(missed))) => {
                    self.missed += missed;
                    self.gap += missed;
                }
                None => return Poll::Ready(None),
            }
        }
    }
}

/// The sender of events to the listeners of one client. The end of its last clone ends their streams.
#[derive(Clone, Debug)]
pub(crate) struct EventSender(Arc<Channel>);

#[derive(Debug)]
struct Channel {
    sender: broadcast::Sender<LockEvent>,
    /// It has a clone for each listener. The channel's own count takes a mutex, which another thread may have had when this
    /// process was forked.
    listeners: Arc<()>,
    last_id: AtomicU64,
    #[cfg(feature = "metrics")]
    counters: Arc<Counters>,
}

impl EventSender {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Channel {
            sender: broadcast::Sender::new(KEPT),
            listeners: Arc::default(),
            last_id: AtomicU64::new(0),
            #[cfg(feature = "metrics")]
            counters: Arc::default(),
        }))
    }

    pub(crate) fn listen(&self) -> Events {
        let (stream, listener) = (self.0.sender.subscribe(), self.0.listeners.clone());
        Events { stream: BroadcastStream::new(stream), missed: 0, gap: 0, _listener: listener }
    }

    /// Returns whether there are listeners.
    pub(crate) fn is_heard(&self) -> bool {
        Arc::strong_count(&self.0.listeners) > 1
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.0.counters
    }

    /// Returns an id that no other attempt, candidate or group of this client has.
    pub(crate) fn new_id(&self) -> u64 {
        self.0.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Tells the listeners that the record of a last start is ahead of the servers' clock.
    pub(crate) fn tick_ahead(&self, tick: &NodePath, ahead: Duration) {
        let subject = Subject { path: tick, label: &"unnamed".into(), mode: Mode::Exclusive, group: None };
        self.send(LockEvent { kind: LockEventKind::TickAhead { ahead }, ..self.begun(&subject) });
    }

    /// Returns the first event of an attempt or a candidate.
    fn begun(&self, subject: &Subject<'_>) -> LockEvent {
        LockEvent {
            id: self.new_id(),
            path: subject.path.relative().to_owned(),
            label: subject.label.clone(),
            mode: subject.mode,
            group: subject.group,
            missed: 0,
            kind: LockEventKind::Begun,
        }
    }

    fn send(&self, event: LockEvent) {
        // An error means that nobody listens any more.
        self.0.sender.send(event).ok();
    }
}

/// An attempt that waits. Dropping it tells that it was cancelled.
#[derive(Debug)]
#[must_use = "an attempt that is dropped is cancelled"]
pub(crate) struct Attempt {
    events: Option<Arc<LockEvents>>,
    /// The span of the call that waits.
    span: Span,
    outcome: Outcome,
}

/// A candidate in its election. Dropping it tells that it has withdrawn.
#[derive(Debug)]
#[must_use = "a candidate that is dropped has withdrawn"]
pub(crate) struct Candidacy(Option<Arc<LockEvents>>);

/// The hold of one node, of an attempt that has acquired it or of an elected candidate. Dropping it tells that it was
/// lost with the session.
#[derive(Debug)]
#[must_use = "a hold that is dropped is lost"]
pub(crate) struct Holding(Option<Arc<LockEvents>>);

/// The end of the hold of one node.
#[derive(Debug)]
pub(crate) enum HoldEnd {
    Released,
    /// Another call of the client has the lock now.
    PassedOn,
    Lost(LossReason),
    /// The release failed.
    Failed(LockError),
}

/// Tells what happens to an attempt or a candidate before its end.
#[derive(Clone, Debug)]
pub(crate) struct Witness(Option<Arc<LockEvents>>);

impl Attempt {
    /// Begins an attempt. Without a sender, it tells the listeners nothing.
    pub(crate) fn begin(sender: Option<EventSender>, subject: Subject<'_>) -> Self {
        let (span, outcome) = (spans::wait_span(&subject), Outcome::Cancelled);
        Self { events: sender.map(|sender| LockEvents::begin(sender, subject)), span, outcome }
    }

    pub(crate) fn witness(&self) -> Witness {
        Witness(self.events.clone())
    }

    /// Ends the wait with a hold of this many nodes, and returns the holds of each. `token` is that of the call.
    pub(crate) fn acquired(mut self, token: FencingToken, nodes: usize) -> impl Iterator<Item = Holding> {
        let events = self.events.take();
        tell(&events, |state| state.hold(token, nodes));
        self.outcome = Outcome::Acquired;
        self.span.record("zklock.token", display(token));
        iter::repeat_with(move || Holding(events.clone())).take(nodes)
    }

    /// Ends an attempt that does not wait.
    pub(crate) fn contended(mut self) {
        self.end(|waited| LockEventKind::Contended { waited });
        self.outcome = Outcome::Contended;
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
        self.outcome = Outcome::of(error);
        spans::record_error(&self.span, self.outcome.name(), error);
    }

    fn end(&mut self, kind: impl FnOnce(Duration) -> LockEventKind) {
        tell(&self.events.take(), |state| state.end(kind));
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.end(|waited| LockEventKind::Cancelled { waited });
        self.span.record("zklock.outcome", self.outcome.name());
    }
}

impl Candidacy {
    /// Joins an election. Without a sender, the candidate tells nothing.
    pub(crate) fn begin(sender: Option<EventSender>, subject: Subject<'_>) -> Self {
        Self(sender.map(|sender| LockEvents::begin(sender, subject)))
    }

    pub(crate) fn witness(&self) -> Witness {
        Witness(self.0.clone())
    }

    /// Begins a term.
    pub(crate) fn elected(&self, token: FencingToken) -> Holding {
        tell(&self.0, |state| state.hold(token, 1));
        Holding(self.0.clone())
    }

    /// Tells that the servers have refused the candidate.
    pub(crate) fn rejected(&self, error: &LockError) {
        tell(&self.0, |state| state.while_waiting(LockEventKind::Rejected { error: error.clone() }));
    }
}

impl Drop for Candidacy {
    fn drop(&mut self) {
        // A term that is not over by now ended with the client's thread.
        tell(&self.0, |state| state.end_hold(HoldEnd::Lost(LossReason::SessionEnded)));
        tell(&self.0, |state| state.end(|_| LockEventKind::Withdrawn));
    }
}

impl Holding {
    /// Counts the node of this hold, under which nobody has held the lock before.
    pub(crate) fn takes_turn(&self) {
        #[cfg(feature = "metrics")]
        if let Some(events) = &self.0 {
            events.counters.counts.lock().turns += 1;
        }
    }

    pub(crate) fn witness(&self) -> Witness {
        Witness(self.0.clone())
    }

    pub(crate) fn end(mut self, end: HoldEnd) {
        tell(&self.0.take(), |state| state.end_hold(end));
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        tell(&self.0, |state| state.end_hold(HoldEnd::Lost(LossReason::SessionEnded)));
    }
}

impl Witness {
    /// Returns whether somebody listened at the beginning.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.as_ref().is_some_and(|events| events.is_heard)
    }

    pub(crate) fn queued(&self, ahead: usize) {
        tell(&self.0, |state| state.while_waiting(LockEventKind::Queued { ahead }));
    }

    pub(crate) fn suspended(&self) {
        self.while_holding(|fencing_token| LockEventKind::Suspended { fencing_token });
    }

    pub(crate) fn confirmed(&self) {
        self.while_holding(|fencing_token| LockEventKind::Confirmed { fencing_token });
    }

    pub(crate) fn downgraded(&self) {
        self.while_holding(|fencing_token| LockEventKind::Downgraded { fencing_token });
    }

    fn while_holding(&self, kind: impl FnOnce(FencingToken) -> LockEventKind) {
        tell(&self.0, |state| match state.part {
            Part::Holds { token, .. } => Some(kind(token)),
            Part::Waits | Part::Over => None,
        });
    }
}

/// The events of one attempt or candidate.
#[derive(Debug)]
struct LockEvents {
    sender: EventSender,
    /// Somebody listened at the beginning.
    is_heard: bool,
    /// The first event, from which the others differ in their kinds.
    begun: LockEvent,
    /// Not held while an event is sent, which may run the waker of a listener, and thereby code of users.
    state: Mutex<State>,
    #[cfg(feature = "metrics")]
    counters: Arc<LockCounters>,
}

/// Makes a change, and sends the event that follows from it.
fn tell(events: &Option<Arc<LockEvents>>, change: impl FnOnce(&mut State) -> Option<LockEventKind>) {
    let Some(events) = events else { return };
    let mut state = events.state.lock();
    let (kind, is_sending) = (change(&mut state), !state.unsent.is_empty());
    state.unsent.extend(kind);
    // Changes of several threads make one sequence of events: one thread sends those of all.
    if is_sending {
        return;
    }
    let mut panic = None;
    while let Some(kind) = state.unsent.front().cloned() {
        drop(state);
        // The waker of a listener may panic. The events behind are sent first, and then the panic goes on.
        panic = catch_unwind(AssertUnwindSafe(|| events.send(kind))).err().or(panic);
        state = events.state.lock();
        state.unsent.pop_front();
    }
    drop(state);
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

impl LockEvents {
    fn begin(sender: EventSender, subject: Subject<'_>) -> Arc<Self> {
        let (is_candidate, unsent) = (subject.mode == Mode::Leader, VecDeque::new());
        let events = Self {
            is_heard: sender.is_heard(),
            begun: sender.begun(&subject),
            state: Mutex::new(State { is_candidate, part: Part::Waits, since: Instant::now(), unsent }),
            #[cfg(feature = "metrics")]
            counters: sender.counters().of(subject.label, subject.mode),
            sender,
        };
        events.send(LockEventKind::Begun);
        Arc::new(events)
    }

    fn send(&self, kind: LockEventKind) {
        #[cfg(feature = "metrics")]
        self.counters.counts.lock().note(&kind);
        if self.is_heard {
            self.sender.send(LockEvent { kind, ..self.begun.clone() });
        }
    }
}

/// The present part of an attempt or a candidate, by which it is known which events may follow.
#[derive(Debug)]
struct State {
    /// A candidate goes on after a hold.
    is_candidate: bool,
    part: Part,
    /// The beginning of the part.
    since: Instant,
    /// The events that a thread is sending now. No thread sends while this is empty.
    unsent: VecDeque<LockEventKind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Waits,
    Holds {
        token: FencingToken,
        /// The number of nodes that are held, which end one by one.
        nodes: usize,
    },
    Over,
}

impl State {
    fn while_waiting(&self, kind: LockEventKind) -> Option<LockEventKind> {
        (self.part == Part::Waits).then_some(kind)
    }

    /// Ends the wait without a hold.
    fn end(&mut self, kind: impl FnOnce(Duration) -> LockEventKind) -> Option<LockEventKind> {
        (self.part == Part::Waits).then(|| kind(self.enter(Part::Over)))
    }

    /// Begins a hold of this many nodes.
    fn hold(&mut self, token: FencingToken, nodes: usize) -> Option<LockEventKind> {
        if self.part != Part::Waits {
            return None;
        }
        let (fencing_token, waited) = (token, self.enter(Part::Holds { token, nodes }));
        Some(match self.is_candidate {
            true => LockEventKind::Elected { fencing_token, waited },
            false => LockEventKind::Acquired { fencing_token, waited },
        })
    }

    /// Ends the hold of one node. The hold ends with its last node, or with the first one that is lost or not released.
    fn end_hold(&mut self, end: HoldEnd) -> Option<LockEventKind> {
        let Part::Holds { token: fencing_token, nodes } = &mut self.part else { return None };
        if *nodes > 1 && matches!(end, HoldEnd::Released | HoldEnd::PassedOn) {
            *nodes -= 1;
            return None;
        }
        let fencing_token = *fencing_token;
        let held = self.enter(if self.is_candidate { Part::Waits } else { Part::Over });
        Some(match end {
            HoldEnd::Lost(reason) => LockEventKind::Lost { fencing_token, held, reason },
            HoldEnd::Failed(error) => LockEventKind::ReleaseFailed { fencing_token, held, error },
            _ if self.is_candidate => LockEventKind::Resigned { fencing_token, held },
            HoldEnd::Released => LockEventKind::Released { fencing_token, held },
            HoldEnd::PassedOn => LockEventKind::PassedOn { fencing_token, held },
        })
    }

    /// Enters a part, and returns the length of the one before.
    fn enter(&mut self, part: Part) -> Duration {
        let now = Instant::now();
        self.part = part;
        now.duration_since(std::mem::replace(&mut self.since, now))
    }
}

/// The number of events that are kept for a listener.
const KEPT: usize = 1024;

#[cfg(test)]
mod tests {
    use std::task::{Wake, Waker};

    use super::*;

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker panics");
        }
    }

    #[tokio::test]
    async fn a_listener_is_told_the_rest_of_a_life_although_its_waker_panics() {
        let (sender, path) = (EventSender::new(), NodePath::new("", "/a").unwrap());
        let mut events = sender.listen();
        let label = "a".into();
        let subject = Subject { path: &path, label: &label, mode: Mode::Exclusive, group: None };
        let attempt = Attempt::begin(Some(sender), subject);
        assert!(matches!(events.next().await.unwrap().kind, LockEventKind::Begun));
        let waker = Waker::from(Arc::new(Panics));
        assert!(Pin::new(&mut events).poll_next(&mut Context::from_waker(&waker)).is_pending());
        let witness = attempt.witness();
        assert!(catch_unwind(AssertUnwindSafe(|| witness.queued(1))).is_err());
        attempt.contended();
        assert!(matches!(events.next().await.unwrap().kind, LockEventKind::Queued { ahead: 1, .. }));
        assert!(matches!(events.next().await.unwrap().kind, LockEventKind::Contended { .. }));
    }

    #[test]
    fn a_sender_is_heard_until_its_last_listener_is_gone() {
        let sender = EventSender::new();
        assert!(!sender.is_heard());
        let (first, second) = (sender.listen(), sender.listen());
        drop(first);
        assert!(sender.is_heard());
        drop(second);
        assert!(!sender.is_heard());
        let _third = sender.listen();
        assert!(sender.is_heard());
    }
}
