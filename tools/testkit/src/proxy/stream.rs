//! One direction of a connection: frames enter a queue as they arrive, and leave it as the link allows.

use std::io;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::codec::Decoder;

use super::rule::{Fault, How};
use super::state::{Lane, Link};
use crate::wire::{Frames, Malformed, frames};

/// The largest frame, in bytes. Servers send lists that are longer than the requests they accept.
const MAX_FRAME: usize = 64 << 20;

/// A unit of the traffic in one direction of a connection, with the time at which it was sent. Parcels stay in order.
pub(super) type Sent = (Instant, Parcel);

#[derive(Debug)]
pub(super) enum Parcel {
    Frame(Bytes, Option<Fault>),
    /// The sender has ended its direction of the stream in order.
    End,
    /// Both directions of the connection end here.
    Cut(How),
}

impl Parcel {
    /// Returns the end of a connection that its sender ends like this.
    pub(super) fn end(how: How) -> Self {
        if how == How::Fin { Self::End } else { Self::Cut(how) }
    }

    fn is_last(&self) -> bool {
        let Self::Frame(_, fault) = self else { return true };
        matches!(fault, Some(Fault::Cut(_) | Fault::CutAfter(_)))
    }
}

/// The codec of a connection, or `None` if it carries any bytes.
pub(super) fn codec(is_raw: bool) -> Option<Frames> {
    (!is_raw).then(|| frames(MAX_FRAME))
}

/// A reader of the frames of a stream.
pub(super) struct Inlet<R> {
    pub(super) stream: R,
    pub(super) codec: Option<Frames>,
    /// Bytes that were read from the stream and are no frame yet.
    pub(super) buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> Inlet<R> {
    /// Returns the next frame, or `None` if the stream ends before the frame is complete.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let frame = match &mut self.codec {
                Some(codec) => codec.decode(&mut self.buffer)?,
                None => Some(self.buffer.split()).filter(|bytes| !bytes.is_empty()),
            };
            if let Some(frame) = frame {
                return Ok(Some(frame.freeze()));
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
        judge: impl Fn(&Bytes) -> Result<Option<Fault>, Malformed>,
    ) {
        loop {
            let parcel = match self.next().await {
                Ok(Some(body)) => match judge(&body) {
                    Ok(Some(Fault::Discard)) => continue,
                    Ok(Some(Fault::Rewrite(rewriter))) => Parcel::Frame((rewriter.0)(&body).into(), None),
                    Ok(fault) => Parcel::Frame(body, fault),
                    Err(_) => Parcel::Cut(How::Fin),
                },
                Ok(None) => Parcel::End,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => Parcel::Cut(How::Fin),
                Err(_) => Parcel::Cut(How::Rst),
            };
            let is_last = parcel.is_last();
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
    pub(super) stream: W,
    pub(super) is_raw: bool,
    pub(super) link: watch::Receiver<Link>,
    pub(super) lane: fn(&Link) -> Lane,
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    /// Writes the queued parcels to the stream until it ends; fails if the whole connection must end.
    pub(super) async fn deliver(mut self, queue: &mut UnboundedReceiver<Sent>) -> Result<(), How> {
        while let Some((sent, parcel)) = queue.recv().await {
            let mut delay = Duration::ZERO;
            match &parcel {
                Parcel::Frame(_, Some(Fault::Hold(released))) => released.cancelled().await,
                Parcel::Frame(_, Some(Fault::Delay(longer))) => delay = *longer,
                _ => {}
            }
            self.wait_for_arrival(sent, delay).await;
            let (body, end) = match parcel {
                Parcel::End => return self.stream.shutdown().await.or(Ok(())),
                Parcel::Cut(how) | Parcel::Frame(_, Some(Fault::Cut(how))) => return Err(how),
                Parcel::Frame(body, Some(Fault::CutAfter(how))) => (body, Some(how)),
                Parcel::Frame(body, _) => (body, None),
            };
            let written = self.write(&body).await;
            if let Some(how) = end {
                // The end follows even if the write fails.
                return Err(how);
            }
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
            let due = (self.lane)(&self.link.borrow_and_update()).arrival(sent, longer);
            // A timer would add up to a millisecond.
            if due.is_some_and(|due| due <= Instant::now()) {
                return;
            }
            tokio::select! {
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
                _ = self.link.changed() => {}
            }
        }
    }

    /// Writes a frame's body, behind its length unless the connection has no frames.
    async fn write(&mut self, body: &[u8]) -> io::Result<()> {
        let mut frame = BytesMut::with_capacity(4 + body.len());
        if !self.is_raw {
            frame.put_u32(u32::try_from(body.len()).map_err(io::Error::other)?);
        }
        frame.put_slice(body);
        self.stream.write_all(&frame).await
    }
}
