//! The events of a client's locks, for logs, metrics and tests.
//!
//! Uses the floors below: `path`, `token` and `error`.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;
use tokio_stream::{Stream, StreamExt};

use crate::error::{LockError, LossReason};
use crate::path::NodePath;
use crate::token::FencingToken;

/// An event of a lock of this client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LockEvent {
    /// The lock's path below the client's namespace.
    pub path: String,
    /// The kind of the event.
    pub kind: LockEventKind,
}

/// The kind of an event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LockEventKind {
    /// A contender is in the queue; sent again when the number in front of it changes.
    ///
    /// No further event follows if its call is dropped, or ends because its period has begun.
    #[non_exhaustive]
    Queued {
        /// The number of contenders in front.
        ahead: usize,
    },
    /// A contender that does not wait found others in front.
    #[non_exhaustive]
    Contended,
    /// The lock is held; sent once per permit of a semaphore, and once per member of a multi-lock.
    #[non_exhaustive]
    Acquired {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
    },
    /// The connection broke while the lock was held.
    #[non_exhaustive]
    Suspended {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
    },
    /// After a suspension, the servers confirmed that the lock is still held.
    #[non_exhaustive]
    Confirmed {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
    },
    /// A write lock was downgraded, and lets readers in.
    #[non_exhaustive]
    Downgraded {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
    },
    /// The lock was lost.
    #[non_exhaustive]
    Lost {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
        /// The reason for the loss.
        reason: LossReason,
    },
    /// The lock was released.
    #[non_exhaustive]
    Released {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
    },
    /// The lock could not be released; the remaining node disappears when the session ends.
    #[non_exhaustive]
    ReleaseFailed {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
        /// The cause.
        error: LockError,
    },
}

/// The events of a client's locks, from the call of [`Client::events`](crate::Client::events) until the
/// client is gone.
///
/// It is also a `Stream` of the crate `futures`. A slow listener misses the oldest events, which
/// [`missed`](Self::missed) counts; it delays neither the locks nor other listeners.
///
/// # Examples
///
/// ```no_run
/// # async fn example(client: zklock_core::Client) {
/// let mut events = client.events();
/// tokio::spawn(async move {
///     while let Some(event) = events.next().await {
///         println!("{}: {:?}", event.path, event.kind);
///     }
/// });
/// # }
/// ```
#[derive(Debug)]
pub struct Events {
    stream: BroadcastStream<LockEvent>,
    missed: u64,
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
                Some(Ok(event)) => return Poll::Ready(Some(event)),
                Some(Err(BroadcastStreamRecvError::Lagged(missed))) => self.missed += missed,
                None => return Poll::Ready(None),
            }
        }
    }
}

/// The sender of events to the listeners of one client.
#[derive(Clone, Debug)]
pub(crate) struct Hub(broadcast::WeakSender<LockEvent>);

/// The source of the events of one client; its end ends the listeners.
#[derive(Debug)]
pub(crate) struct Source(broadcast::Sender<LockEvent>);

impl Source {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(KEPT))
    }

    pub(crate) fn listen(&self) -> Events {
        Events { stream: BroadcastStream::new(self.0.subscribe()), missed: 0 }
    }

    pub(crate) fn hub(&self) -> Hub {
        Hub(self.0.downgrade())
    }
}

impl Hub {
    /// Returns whether there are listeners.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.upgrade().is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Sends an event, if there are listeners.
    pub(crate) fn tell(&self, path: &NodePath, kind: impl FnOnce() -> LockEventKind) {
        if let Some(sender) = self.0.upgrade().filter(|sender| sender.receiver_count() > 0) {
            sender.send(LockEvent { path: path.relative().to_owned(), kind: kind() }).ok();
        }
    }
}

/// The number of events that are kept for a listener.
const KEPT: usize = 1024;
