//! One direction of a connection: frames go into a queue as they come, and out of it as the link allows.

use std::io;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::codec::Decoder;

use super::fault::{Content, How, Parcel};
use super::link::{Arrival, Lane, Link};
use crate::wire::{Frames, Malformed, frames};

/// Servers send lists that are longer than the requests they accept.
const MAX_FRAME: usize = 64 << 20;

/// A parcel and when it was sent.
pub(super) type Sent = (Instant, Parcel);

/// Takes frames off a stream.
pub(super) struct Inlet<R> {
    stream: R,
    frames: Frames,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> Inlet<R> {
    /// Starts with bytes that were read from the stream before.
    pub(super) fn new(stream: R, buffer: BytesMut) -> Self {
        Self { stream, frames: frames(MAX_FRAME), buffer }
    }

    /// The next frame, unless the stream ends before it is complete.
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

    /// Queues what becomes of each frame, until the stream or the connection ends.
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
            // Where nobody takes the parcels any more, the stream is read to its end all the same.
            let _ = queue.send((Instant::now(), parcel));
            if is_last {
                return;
            }
        }
    }
}

/// Puts frames on a stream.
pub(super) struct Outlet<W> {
    stream: W,
    link: watch::Receiver<Link>,
    lane: fn(&Link) -> Lane,
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    pub(super) fn new(stream: W, link: watch::Receiver<Link>, lane: fn(&Link) -> Lane) -> Self {
        Self { stream, link, lane }
    }

    /// Puts what is queued on the stream, until the stream ends; fails when all of the connection is to end.
    pub(super) async fn deliver(mut self, queue: &mut UnboundedReceiver<Sent>) -> Result<(), How> {
        while let Some((sent, parcel)) = queue.recv().await {
            if let Some(gate) = &parcel.gate {
                gate.released().await;
            }
            self.wait_for_arrival(sent, parcel.delay).await;
            let written = match parcel.content {
                Content::Frame(body) => self.write(&body, body.len()).await,
                Content::Last { body, keep, how } => {
                    // The end follows, whether or not this could be written.
                    let _ = self.write(&body, keep).await;
                    return Err(how);
                }
                Content::End(How::Fin) => return self.stream.shutdown().await.or(Ok(())),
                Content::End(How::Rst) => return Err(How::Rst),
                Content::Cut(how) => return Err(how),
            };
            if written.is_err() {
                // The other direction still has what the receiver sent before it went, and learns how it went.
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

    /// Writes a frame's full length and the first bytes of its body, as fast as the link allows.
    async fn write(&mut self, body: &[u8], keep: usize) -> io::Result<()> {
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        let mut frame = BytesMut::with_capacity(4 + body.len());
        frame.put_u32(length);
        frame.put_slice(&body[..keep.min(body.len())]);
        while !frame.is_empty() {
            let (portion, pause) = (self.lane)(&self.link.borrow_and_update()).portion(frame.len());
            self.stream.write_all(&frame.split_to(portion)).await?;
            // Even a sleep of no time takes up to a millisecond. None takes more than a second, so that a
            // heal need not end it.
            if !pause.is_zero() {
                sleep(pause).await;
            }
        }
        Ok(())
    }
}
