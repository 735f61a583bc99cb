//! The relay between one connection of a client and the proxy's connection to the server.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, copy_bidirectional, sink};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::conversation::{Conversation, Said};
use super::fault::{Content, Fault, How, Parcel};
use super::state::{Cut, State};
use super::stream::{Inlet, Outlet, Sent};
use super::trigger::Kind;
use crate::wire::Malformed;

/// Serves a client until it and the server have gone.
pub(super) async fn serve(state: Arc<State>, client: TcpStream) {
    let Some((number, cut)) = state.admit() else {
        return close(client, How::Rst).await;
    };
    let connection = Connection { state, number, cut, conversation: Mutex::default() };
    connection.serve(client).await;
    connection.state.leave(connection.number);
}

struct Connection {
    state: Arc<State>,
    number: u64,
    cut: Arc<Cut>,
    conversation: Mutex<Conversation>,
}

impl Connection {
    async fn serve(&self, mut client: TcpStream) {
        let opened = tokio::select! {
            biased;
            how = self.is_cut() => Err(how),
            opened = self.open(&mut client) => opened,
        };
        match opened {
            Ok((server, early)) if is_word(&early) => self.pass_through(client, server, &early).await,
            Ok((server, early)) => {
                let (to_server, requests) = unbounded_channel();
                let (to_client, replies) = unbounded_channel();
                tokio::join!(
                    self.client_side(client, early, to_server, replies),
                    self.server_side(server, to_client, requests),
                );
            }
            Err(how) => close(client, how).await,
        }
    }

    /// Waits until the link is not blackholed, connects to the server, and waits for enough bytes to
    /// recognize a four-letter word.
    ///
    /// The server never sees a client that leaves while the link is blackholed.
    async fn open(&self, client: &mut TcpStream) -> Result<(TcpStream, BytesMut), How> {
        let (mut link, mut early) = (self.state.link.subscribe(), BytesMut::new());
        loop {
            tokio::select! {
                biased;
                _ = link.wait_for(|link| !link.is_blackholed()) => break,
                read = client.read_buf(&mut early) => some(read)?,
            }
        }
        let server = TcpStream::connect(self.state.server).await.map_err(|_| How::Rst)?;
        // This keeps the proxy from adding a delay of its own. Without it, nothing else goes wrong.
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        while early.len() < WORD {
            some(client.read_buf(&mut early).await)?;
        }
        Ok((server, early))
    }

    async fn client_side(
        &self,
        mut client: TcpStream,
        early: BytesMut,
        to_server: UnboundedSender<Sent>,
        mut replies: UnboundedReceiver<Sent>,
    ) {
        let (reader, writer) = client.split();
        let inlet = Inlet::new(reader, early);
        let outlet = Outlet::new(writer, self.state.link.subscribe(), |link| link.to_client);
        let receive = async {
            inlet.receive(&to_server, |body| self.judge_request(body)).await;
            self.state.attach(self.number, None);
            Ok(())
        };
        let ended = tokio::select! {
            biased;
            how = self.is_cut() => Err(how),
            ended = async { tokio::try_join!(receive, outlet.deliver(&mut replies)) } => ended,
        };
        self.state.leave(self.number);
        if let Err(how) = ended {
            // Frames on their way to the server still arrive, followed by this end.
            let _ = to_server.send((tokio::time::Instant::now(), Content::End(how).into()));
            close(client, how).await;
        }
    }

    async fn server_side(
        &self,
        mut server: TcpStream,
        to_client: UnboundedSender<Sent>,
        mut requests: UnboundedReceiver<Sent>,
    ) {
        let (reader, writer) = server.split();
        let inlet = Inlet::new(reader, BytesMut::new());
        let outlet = Outlet::new(writer, self.state.link.subscribe(), |link| link.to_server);
        let receive = async {
            inlet.receive(&to_client, |body| self.judge_answer(body)).await;
            Ok(())
        };
        let ended = tokio::try_join!(receive, outlet.deliver(&mut requests));
        if let Err(how) = ended {
            self.cut.send_replace(Some(how));
            close(server, how).await;
        }
    }

    fn judge_request(&self, body: Bytes) -> Result<Option<Parcel>, Malformed> {
        let mut conversation = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = conversation.hear_client(&body)?;
        let fault = self.state.judge(Kind::Request(asked.opcode()));
        if !matches!(fault, Some(Fault::Discard)) {
            conversation.expect(asked);
        }
        Ok(apply(fault, body))
    }

    fn judge_answer(&self, body: Bytes) -> Result<Option<Parcel>, Malformed> {
        let said = self.conversation.lock().unwrap_or_else(PoisonError::into_inner).hear_server(&body)?;
        if let Said::Session(session) = said {
            self.state.attach(self.number, Some(session).filter(|&session| session != 0));
        }
        Ok(apply(self.state.judge(said.kind()), body))
    }

    /// Passes all bytes on as they arrive, after the `early` ones.
    async fn pass_through(&self, mut client: TcpStream, mut server: TcpStream, early: &[u8]) {
        let pass = async {
            server.write_all(early).await?;
            copy_bidirectional(&mut client, &mut server).await
        };
        let cut = tokio::select! {
            biased;
            how = self.is_cut() => Some(how),
            _ = pass => None,
        };
        if let Some(how) = cut {
            close(client, how).await;
        }
    }

    async fn is_cut(&self) -> How {
        let mut cut = self.cut.subscribe();
        loop {
            if let Some(how) = *cut.borrow_and_update() {
                return how;
            }
            // `self` owns the sender, so the channel cannot be closed.
            let _ = cut.changed().await;
        }
    }
}

/// The number of bytes that distinguish a four-letter word from the length of a frame.
const WORD: usize = 4;

/// Returns whether these first bytes are a four-letter word; read as a length, they would exceed any frame.
fn is_word(bytes: &[u8]) -> bool {
    bytes[..WORD].iter().all(u8::is_ascii_alphabetic)
}

fn apply(fault: Option<Fault>, body: Bytes) -> Option<Parcel> {
    match fault {
        Some(fault) => fault.applied_to(body),
        None => Some(Content::Frame(body).into()),
    }
}

/// Fails if the stream has ended or cannot be read.
fn some(read: std::io::Result<usize>) -> Result<(), How> {
    match read {
        Ok(0) => Err(How::Fin),
        Ok(_) => Ok(()),
        Err(_) => Err(How::Rst),
    }
}

async fn close(mut stream: TcpStream, how: How) {
    match how {
        // This fails only if the other end has already reset the connection.
        How::Rst => drop(stream.set_zero_linger()),
        How::Fin => {
            let _ = stream.shutdown().await;
            // A socket closed with unread bytes sends a reset, which may overtake the end of the stream.
            let _ = copy(&mut stream, &mut sink()).await;
        }
    }
}
