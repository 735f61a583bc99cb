//! The model of a server, and the channels and the counts of its connections.

use std::collections::HashMap;
use std::net::SocketAddr;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio_util::sync::CancellationToken;

use crate::model::{ConnectionId, Message, Model, Output};

#[derive(Debug)]
pub(super) struct State {
    pub(super) model: Model,
    pub(super) routes: HashMap<ConnectionId, Route>,
    pub(super) traffic: Traffic,
}

/// The channel to a connection.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) peer: SocketAddr,
    pub(super) outgoing: mpsc::Sender<Outgoing>,
    pub(super) abort: CancellationToken,
    /// Cancelled when the model has closed the connection.
    pub(super) closing: CancellationToken,
    pub(super) traffic: Traffic,
}

/// An instruction to a connection.
#[derive(Debug)]
pub(super) enum Outgoing {
    Send(Message),
    Close,
}

/// The numbers of packets received and sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) received: u64,
    pub(super) sent: u64,
}

impl State {
    pub(super) fn new(model: Model) -> Self {
        Self { model, routes: HashMap::new(), traffic: Traffic::default() }
    }

    pub(super) fn count_received(&mut self, id: ConnectionId) {
        self.traffic.received += 1;
        if let Some(route) = self.routes.get_mut(&id) {
            route.traffic.received += 1;
        }
    }

    /// Passes the outputs of the model on to the connections.
    pub(super) fn dispatch(&mut self) {
        for output in self.model.take_outputs() {
            match output {
                Output::Send(id, message) => self.give(id, Outgoing::Send(message)),
                Output::Close(id) => self.give(id, Outgoing::Close),
            }
        }
    }

    fn give(&mut self, id: ConnectionId, outgoing: Outgoing) {
        // After a message that could not be queued, no later one may be sent.
        let Some(route) = self.routes.get_mut(&id).filter(|route| !route.abort.is_cancelled()) else {
            return;
        };
        match outgoing {
            Outgoing::Send(_) => {
                self.traffic.sent += 1;
                route.traffic.sent += 1;
            }
            Outgoing::Close => route.closing.cancel(),
        }
        if let Err(TrySendError::Full(_)) = route.outgoing.try_send(outgoing) {
            tracing::warn!(peer = %route.peer, "disconnected a client that does not read");
            route.abort.cancel();
        }
    }
}
