//! What happens to the locks of a client, for logs, metrics and tests.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;
use tokio_stream::{Stream, StreamExt};

use crate::error::{LockError, LossReason};
use crate::path::NodePath;
use crate::token::FencingToken;

/// Something that happened to a lock of this client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LockEvent {
    /// The lock's path below the client's namespace.
    pub path: String,
    /// What happened.
    pub kind: LockEventKind,
}

/// What happened to a lock.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LockEventKind {
    /// A contender is in the queue, with so many in front of it; said again when that changes.
    ///
    /// Nothing more is said of one whose call was dropped, or ended because its period has begun.
    Queued {
        /// How many are in front.
        ahead: usize,
    },
    /// A contender that did not want to wait found others in front.
    Contended,
    /// The lock is held; said for each permit of a semaphore, and each member of a multi-lock.
    Acquired {
        /// The token of the holder.
        fencing_token: FencingToken,
    },
    /// The connection broke while the lock was held.
    Suspended {
        /// The token of the holder.
        fencing_token: FencingToken,
    },
    /// After that, the servers confirmed that the lock is held.
    Confirmed {
        /// The token of the holder.
        fencing_token: FencingToken,
    },
    /// A write lock lets readers in.
    Downgraded {
        /// The token of the holder.
        fencing_token: FencingToken,
    },
    /// The lock was lost.
    Lost {
        /// The token of the holder.
        fencing_token: FencingToken,
        /// Why it was lost.
        reason: LossReason,
    },
    /// The lock was released.
    Released {
        /// The token of the holder.
        fencing_token: FencingToken,
    },
    /// The lock could not be released; what is left of it ends with the session.
    ReleaseFailed {
        /// The token of the holder.
        fencing_token: FencingToken,
        /// Why.
        error: LockError,
    },
}

/// What happens to the locks of a client from now on, until the client is gone.
///
/// It is also a `Stream` of the crate `futures`. A listener that is slow misses the oldest events, and [`missed`](Self::missed) counts them; it delays
/// neither the locks nor other listeners.
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

    /// How many events were missed so far, because more than 1024 were waiting to be taken.
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

/// Where the events of one client are told.
#[derive(Clone, Debug)]
pub(crate) struct Hub(broadcast::WeakSender<LockEvent>);

/// The end of it ends the listeners.
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
    /// Tells an event, if anybody listens.
    pub(crate) fn tell(&self, path: &NodePath, kind: impl FnOnce() -> LockEventKind) {
        if let Some(sender) = self.0.upgrade().filter(|sender| sender.receiver_count() > 0) {
            sender.send(LockEvent { path: path.relative().to_owned(), kind: kind() }).ok();
        }
    }
}

/// How many events wait for a listener.
const KEPT: usize = 1024;
