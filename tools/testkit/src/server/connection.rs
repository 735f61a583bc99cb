//! The service of one connection: reading requests, and sending replies and events.

use std::io::{self, Cursor};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Chain};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;
use tokio_util::codec::{FramedRead, FramedWrite};

use super::core::{Accepted, Core};
use super::words;
use crate::model::{ConnectionId, Message};
use crate::wire::{
    ConnectRequest, Frames, Malformed, Reader, Record, Request, RequestHeader, Writer, frames,
};

/// The time limit for the first frame of a connection: `zookeeper.nio.sessionlessCnxnTimeout`.
const FIRST_FRAME_WITHIN: Duration = Duration::from_secs(10);

/// The time that a client has to read the last messages before its connection is closed.
const READ_WITHIN: Duration = Duration::from_secs(2);

/// Serves a connection until either side ends it.
pub(super) async fn serve(core: Arc<Core>, stream: TcpStream, peer: SocketAddr) {
    let Some(accepted) = core.accept(peer) else {
        tracing::warn!(%peer, "refused a connection: too many are open");
        return;
    };
    let (id, closing) = (accepted.id, accepted.closing.clone());
    let overdue = async {
        closing.cancelled().await;
        core.until_running().await;
        tokio::time::sleep(READ_WITHIN).await;
    };
    let outcome = tokio::select! {
        biased;
        outcome = converse(&core, stream, accepted) => outcome,
        () = overdue => Err(late(STUCK)),
    };
    core.disconnect(id);
    if let Err(error) = outcome {
        tracing::warn!(%peer, %error, "closed a connection");
    }
}

async fn converse(core: &Core, stream: TcpStream, accepted: Accepted) -> io::Result<()> {
    let peer = stream.peer_addr()?;
    stream.set_nodelay(true)?;
    let (mut input, mut output) = stream.into_split();
    let mut first = [0; 4];
    let began = timeout(FIRST_FRAME_WITHIN, input.read_exact(&mut first)).await;
    match began.map_err(|_| late(SILENT))? {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
        began => began?,
    };
    core.until_running().await;
    if let Some(answer) = words::answer(core, accepted.id, first) {
        let answered = async {
            output.write_all(answer.as_bytes()).await?;
            output.shutdown().await
        };
        return timeout(FIRST_FRAME_WITHIN, answered).await.map_err(|_| late(STUCK))?;
    }
    let input = FramedRead::new(Cursor::new(first).chain(input), frames(core.max_buffer));
    // A server may send longer frames than it accepts.
    let output = FramedWrite::new(output, frames(i32::MAX as usize));
    Conversation { core, id: accepted.id, peer, input, output, is_connected: false, has_warned: false }
        .run(accepted)
        .await
}

struct Conversation<'a> {
    core: &'a Core,
    id: ConnectionId,
    peer: SocketAddr,
    input: FramedRead<Chain<Cursor<[u8; 4]>, OwnedReadHalf>, Frames>,
    output: FramedWrite<OwnedWriteHalf, Frames>,
    /// Whether the first frame, which is decoded in another way, has been read.
    is_connected: bool,
    /// Whether the log already reports a malformed request of this connection.
    has_warned: bool,
}

impl Conversation<'_> {
    /// Answers each frame before reading the next one, and so stops reading from a client that does not read.
    async fn run(mut self, mut accepted: Accepted) -> io::Result<()> {
        loop {
            self.core.until_running().await;
            tokio::select! {
                biased;
                outgoing = accepted.outgoing.recv() => {
                    self.core.until_running().await;
                    if !self.send(outgoing.flatten(), &mut accepted).await? {
                        return Ok(());
                    }
                }
                frame = self.next_frame() => match frame? {
                    Some(frame) => self.take(frame).await?,
                    None => return Ok(()),
                },
            }
        }
    }

    /// Reads the next frame, with a time limit for the first one.
    ///
    /// Before there is a session that can expire, nothing else would end a connection within a frame.
    async fn next_frame(&mut self) -> io::Result<Option<BytesMut>> {
        let next = self.input.next();
        let frame = match self.is_connected {
            false => timeout(FIRST_FRAME_WITHIN, next).await.map_err(|_| late(SILENT))?,
            true => next.await,
        };
        frame.transpose()
    }

    async fn take(&mut self, frame: BytesMut) -> io::Result<()> {
        let (core, id, mut reader) = (self.core, self.id, Reader::new(frame.freeze()));
        if !self.is_connected {
            let request = ConnectRequest::read(&mut reader).map_err(malformed)?;
            self.is_connected = true;
            core.receive(id, |model, now| model.connect(id, &request, now)).await;
            core.deadlines.notify_one();
            return Ok(());
        }
        let header = RequestHeader::read(&mut reader).map_err(malformed)?;
        match Request::read(header.opcode, &mut reader) {
            Ok(request) => core.receive(id, |model, now| model.request(id, header.xid, request, now)).await,
            Err(error) => {
                if !self.has_warned {
                    tracing::warn!(peer = %self.peer, opcode = %header.opcode, %error, "malformed request");
                    self.has_warned = true;
                }
                core.receive(id, |model, now| model.malformed(id, header, now)).await;
            }
        }
        Ok(())
    }

    /// Sends all waiting messages in as few packets as possible. Returns whether the connection goes on.
    async fn send(&mut self, first: Option<Message>, accepted: &mut Accepted) -> io::Result<bool> {
        // Nothing more can arrive on a closed channel.
        let mut next = Some(first);
        while let Some(Some(message)) = next {
            self.output.feed(encoded(&message)).await?;
            next = accepted.outgoing.try_recv().ok();
        }
        SinkExt::<Bytes>::flush(&mut self.output).await?;
        if next.is_some() {
            self.output.get_mut().shutdown().await?;
        }
        Ok(next.is_none())
    }
}

const SILENT: &str = "the first frame did not arrive in time";
const STUCK: &str = "the client does not read";

fn late(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, text)
}

fn malformed(error: Malformed) -> io::Error {
    io::Error::other(format!("malformed: {error}"))
}

fn encoded(message: &Message) -> Bytes {
    let mut writer = Writer::default();
    match message {
        Message::Connected(response) => response.write(&mut writer),
        Message::Reply(header, response) => {
            header.write(&mut writer);
            response.write(&mut writer);
        }
        Message::Event(header, event) => {
            header.write(&mut writer);
            event.write(&mut writer);
        }
    }
    writer.finish()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::Ipv4Addr;

    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;
    use crate::model::Settings;

    /// Whenever all tasks wait, the clock goes on to the next time limit.
    #[tokio::test(start_paused = true)]
    async fn half_a_greeting_is_not_waited_for_for_ever() {
        let core = Arc::new(Core::new(Settings::default(), 1_000));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        for bytes in [&[][..], &[0, 0, 0, 44, 0, 0]] {
            let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.write_all(bytes).unwrap();
            let (stream, peer) = listener.accept().await.unwrap();
            let begin = Instant::now();
            serve(core.clone(), stream, peer).await;
            assert!(begin.elapsed() >= FIRST_FRAME_WITHIN, "{:?}", begin.elapsed());
            assert_eq!(client.read(&mut [0]).unwrap(), 0);
        }
    }
}
