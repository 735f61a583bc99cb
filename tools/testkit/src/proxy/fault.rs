//! The faults of rules, and their effects on frames.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;

/// The way in which a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// In order, as if the other process closes the connection: the next read finds the end of the stream.
    Fin,
    /// With a reset, as if the other machine no longer knows the connection: reads and writes fail.
    Rst,
}

/// A gate that holds frames until it is released, which cannot be undone.
#[derive(Clone, Debug)]
pub(super) struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    pub(super) fn shut() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    pub(super) fn release(&self) {
        self.0.send_replace(true);
    }

    pub(super) fn is_released(&self) -> bool {
        *self.0.borrow()
    }

    pub(super) async fn released(&self) {
        // `self` owns the sender, so the channel cannot be closed.
        let _ = self.0.subscribe().wait_for(|&released| released).await;
    }
}

/// A function that returns the body that replaces another one.
#[derive(Clone)]
pub(super) struct Rewriter(pub(super) Arc<Rewrite>);

type Rewrite = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

impl fmt::Debug for Rewriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rewriter")
    }
}

/// The effect of a rule on a frame.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    Discard,
    Cut(How),
    CutAfter(How),
    Delay(Duration),
    Hold(Gate),
    Rewrite(Rewriter),
    Truncate(usize),
}

impl Fault {
    /// Returns the parcel that replaces a frame with this body, if any.
    pub(super) fn applied_to(self, body: Bytes) -> Option<Parcel> {
        let content = match self {
            Self::Discard => return None,
            Self::Delay(delay) => return Some(Parcel { delay, ..Content::Frame(body).into() }),
            Self::Hold(gate) => return Some(Parcel { gate: Some(gate), ..Content::Frame(body).into() }),
            Self::Cut(how) => Content::Cut(how),
            Self::Rewrite(Rewriter(rewriter)) => Content::Frame(rewriter(&body).into()),
            Self::CutAfter(how) => Content::Last { keep: body.len(), body, how },
            Self::Truncate(keep) => Content::Last { body, keep, how: How::Fin },
        };
        Some(content.into())
    }
}

/// A unit of the traffic in one direction of a connection; parcels stay in order.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    pub(super) content: Content,
    /// The delay in addition to that of the link.
    pub(super) delay: Duration,
    /// The gate that must be released before the parcel is delivered.
    pub(super) gate: Option<Gate>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Frame(Bytes),
    /// The full length of a frame, the first `keep` bytes of its body, and the end of the connection.
    Last {
        body: Bytes,
        keep: usize,
        how: How,
    },
    /// The sender has ended its direction of the stream, or both with a reset.
    End(How),
    /// Both directions of the connection end here.
    Cut(How),
}

impl From<Content> for Parcel {
    fn from(content: Content) -> Self {
        Self { content, delay: Duration::ZERO, gate: None }
    }
}
