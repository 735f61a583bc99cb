//! One direction of a connection: frames enter a queue as they arrive, and leave it as the link allows.

use std::io;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::codec::Decoder;

use super::fault::{Content, How, Parcel};
use super::link::{Arrival, Lane, Link};
use crate::wire::{Frames, Malformed, frames};

/// The largest frame, in bytes. Servers send lists that are longer than the requests they accept.
const MAX_FRAME: usize = 64 << 20;

/// A parcel and the time at which it was sent.
pub(super) type Sent = (Instant, Parcel);

/// A reader of the frames of a stream.
pub(super) struct Inlet<R> {
    stream: R,
    frames: Frames,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> Inlet<R> {
    /// Creates an inlet that starts with bytes already read from the stream.
    pub(super) fn new(stream: R, buffer: BytesMut) -> Self {
        Self { stream, frames: frames(MAX_FRAME), buffer }
    }

    /// Returns the next frame, or `None` if the stream ends before the frame is complete.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if let Some(body) = self.frames.decode(&mut self.buffer)? {
                return Ok(Some(body.freeze()));
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Queues the parcel for each frame, until the stream or the connection ends.
    pub(super) async fn receive(
        mut self,
        queue: &UnboundedSender<Sent>,
        judge: impl Fn(Bytes) -> Result<Option<Parcel>, Malformed>,
    ) {
        loop {
            let parcel = match self.next().await {
                Ok(Some(body)) => judge(body).unwrap_or_else(|_| Some(Content::Cut(How::Fin).into())),
                Ok(None) => Some(Content::End(How::Fin).into()),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    Some(Content::Cut(How::Fin).into())
                }
                Err(_) => Some(Content::End(How::Rst).into()),
            };
            let Some(parcel) = parcel else { continue };
            let is_last = !matches!(parcel.content, Content::Frame(_));
            // The stream is read to its end even if no outlet takes the parcels any more.
            let _ = queue.send((Instant::now(), parcel));
            if is_last {
                return;
            }
        }
    }
}

/// A writer of frames to a stream.
pub(super) struct Outlet<W> {
    stream: W,
    link: watch::Receiver<Link>,
    lane: fn(&Link) -> Lane,
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    pub(super) fn new(stream: W, link: watch::Receiver<Link>, lane: fn(&Link) -> Lane) -> Self {
        Self { stream, link, lane }
    }

    /// Writes the queued parcels to the stream until it ends; fails if the whole connection must end.
    pub(super) async fn deliver(mut self, queue: &mut UnboundedReceiver<Sent>) -> Result<(), How> {
        while let Some((sent, parcel)) = queue.recv().await {
            if let Some(gate) = &parcel.gate {
                gate.released().await;
            }
            self.wait_for_arrival(sent, parcel.delay).await;
            let written = match parcel.content {
                Content::Frame(body) => self.write(&body, body.len()).await,
                Content::Last { body, keep, how } => {
                    // The end follows even if this write fails.
                    let _ = self.write(&body, keep).await;
                    return Err(how);
                }
                Content::End(How::Fin) => return self.stream.shutdown().await.or(Ok(())),
                Content::End(How::Rst) => return Err(How::Rst),
                Content::Cut(how) => return Err(how),
            };
            if written.is_err() {
                // The other direction still delivers the frames that the receiver sent before it went, and
                // sees how it went.
                return Ok(());
            }
        }
        Ok(())
    }

    async fn wait_for_arrival(&mut self, sent: Instant, longer: Duration) {
        loop {
            let lane = (self.lane)(&self.link.borrow_and_update());
            match lane.arrival(sent, longer, Instant::now()) {
                Arrival::Now => return,
                Arrival::At(due) => tokio::select! {
                    () = sleep_until(due) => {}
                    _ = self.link.changed() => {}
                },
                Arrival::Unknown => drop(self.link.changed().await),
            }
        }
    }

    /// Writes a frame's full length and the first `keep` bytes of its body.
    async fn write(&mut self, body: &[u8], keep: usize) -> io::Result<()> {
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        let mut frame = BytesMut::with_capacity(4 + body.len());
        frame.put_u32(length);
        frame.put_slice(&body[..keep.min(body.len())]);
        self.stream.write_all(&frame).await
    }
}
