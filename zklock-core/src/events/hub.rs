//! Delivers events to listeners.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;
use tokio_stream::{Stream, StreamExt};

use crate::mode::Mode;
use crate::path::NodePath;

use super::event::{LockEvent, LockEventKind};
#[cfg(feature = "metrics")]
use super::meter::Meter;

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

/// The source of the events of one client; its end ends the listeners.
#[derive(Debug)]
pub(crate) struct Source {
    sender: broadcast::Sender<LockEvent>,
    /// It has a clone for each listener. The channel's own count takes a mutex, and each call asks for the number.
    listeners: Arc<()>,
    last_id: Arc<AtomicU64>,
    #[cfg(feature = "metrics")]
    meter: Arc<Meter>,
}

/// The sender of events to the listeners of one client. It does not keep their streams open.
#[derive(Clone, Debug)]
pub(crate) struct Hub {
    sender: broadcast::WeakSender<LockEvent>,
    last_id: Arc<AtomicU64>,
    is_heard: bool,
    #[cfg(feature = "metrics")]
    meter: Arc<Meter>,
}

impl Source {
    pub(crate) fn new() -> Self {
        Self {
            sender: broadcast::Sender::new(KEPT),
            listeners: Arc::default(),
            last_id: Arc::default(),
            #[cfg(feature = "metrics")]
            meter: Arc::default(),
        }
    }

    pub(crate) fn listen(&self) -> Events {
        let stream = BroadcastStream::new(self.sender.subscribe());
        Events { stream, missed: 0, gap: 0, _listener: self.listeners.clone() }
    }

    /// Returns the sender of events, or `None` if nobody listens and nothing is counted.
    pub(crate) fn hub(&self) -> Option<Hub> {
        let is_heard = self.is_heard();
        (is_heard || cfg!(feature = "metrics")).then(|| Hub {
            sender: self.sender.downgrade(),
            last_id: self.last_id.clone(),
            is_heard,
            #[cfg(feature = "metrics")]
            meter: self.meter.clone(),
        })
    }

    /// Returns whether there are listeners.
    pub(crate) fn is_heard(&self) -> bool {
        Arc::strong_count(&self.listeners) > 1
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }
}

impl Hub {
    /// Returns an id that no other attempt, candidate or group of this client has.
    pub(crate) fn new_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Tells the listeners that a tick is ahead of the servers' clock.
    pub(crate) fn tick_ahead(&self, tick: &NodePath, ahead: Duration) {
        self.send(LockEvent {
            id: self.new_id(),
            path: tick.relative().to_owned(),
            label: "unnamed".into(),
            mode: Mode::Exclusive,
            group: None,
            missed: 0,
            kind: LockEventKind::TickAhead { ahead },
        });
    }

    /// Returns whether there were listeners when the life began.
    pub(super) fn is_heard(&self) -> bool {
        self.is_heard
    }

    #[cfg(feature = "metrics")]
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(super) fn send(&self, event: LockEvent) {
        if let Some(sender) = self.sender.upgrade() {
            // An error means that nobody listens any more.
            sender.send(event).ok();
        }
    }
}

/// The number of events that are kept for a listener.
const KEPT: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_heard_until_its_last_listener_is_gone() {
        let source = Source::new();
        assert!(!source.is_heard());
        let (first, second) = (source.listen(), source.listen());
        // A hub is no listener.
        let hub = source.hub();
        drop(first);
        assert!(source.is_heard() && hub.is_some_and(|hub| hub.is_heard()));
        drop(second);
        assert!(!source.is_heard());
        let _third = source.listen();
        assert!(source.is_heard());
    }
}
