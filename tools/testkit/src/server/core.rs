//! The state of a server: its model, its clock, and the channels to its connections.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::model::{ConnectionId, Message, Model, Output, Settings};

/// The maximum number of messages waiting for a client that does not read.
const OUTGOING: usize = 10_000;

/// The maximum number of connections.
const CONNECTIONS: usize = 1_000;

/// A server without its sockets.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) settings: Settings,
    pub(super) max_buffer: usize,
    /// The address that the server listens on, once it does.
    pub(super) address: OnceLock<SocketAddr>,
    clock: Clock,
    state: Mutex<State>,
    is_paused: watch::Sender<bool>,
    /// Notified when the next deadline may have become earlier.
    pub(super) deadlines: Notify,
}

/// A connection that was accepted.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) id: ConnectionId,
    pub(super) outgoing: mpsc::Receiver<Option<Message>>,
    pub(super) closing: CancellationToken,
}

impl Core {
    pub(super) fn new(settings: Settings, max_buffer: usize) -> Self {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let clock = Clock { base: since_1970, start: Instant::now() };
        let model = Model::new(settings.clone(), clock.now());
        let state = State { model, routes: HashMap::new(), traffic: Traffic::default() };
        Self {
            settings,
            max_buffer,
            address: OnceLock::new(),
            clock,
            state: Mutex::new(state),
            is_paused: watch::channel(false).0,
            deadlines: Notify::new(),
        }
    }

    /// Calls `look` with the model.
    pub(super) fn model<T>(&self, look: impl FnOnce(&Model) -> T) -> T {
        look(&self.state().model)
    }

    /// Changes the model from outside of the protocol, even if the server is paused.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Model) -> T) -> T {
        let mut state = self.state();
        let result = change(&mut state.model);
        state.dispatch();
        result
    }

    pub(super) fn accept(&self, peer: SocketAddr) -> Option<Accepted> {
        let mut state = self.state();
        if state.routes.len() >= CONNECTIONS {
            return None;
        }
        let id = state.model.open(peer.ip());
        let (sender, outgoing) = mpsc::channel(OUTGOING);
        let closing = CancellationToken::new();
        let route = Route { peer, outgoing: sender, closing: closing.clone(), traffic: Traffic::default() };
        state.routes.insert(id, route);
        Some(Accepted { id, outgoing, closing })
    }

    /// Has the model handle a frame of a connection, once the server is not paused.
    pub(super) async fn receive(&self, id: ConnectionId, handle: impl FnOnce(&mut Model, Duration)) {
        self.when_running(|state| {
            state.count_received(id);
            handle(&mut state.model, self.clock.now());
            state.dispatch();
        })
        .await;
    }

    /// Waits until the server is not paused, and calls `act` before it can be paused again.
    async fn when_running(&self, act: impl FnOnce(&mut State)) {
        loop {
            self.until_running().await;
            let mut state = self.state();
            if !*self.is_paused.borrow() {
                return act(&mut state);
            }
        }
    }

    pub(super) fn disconnect(&self, id: ConnectionId) {
        let mut state = self.state();
        state.routes.remove(&id);
        state.model.disconnect(id);
    }

    /// Advances the model's time at every deadline; never returns.
    pub(super) async fn keep_time(&self) {
        loop {
            self.when_running(|state| self.advance(state)).await;
            let deadline = self.model(Model::next_deadline);
            let pause = deadline.saturating_sub(self.clock.now());
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.deadlines.notified() => {}
            }
        }
    }

    /// Waits while the server is paused.
    pub(super) async fn until_running(&self) {
        // This fails only if the sender is gone, and `self` owns it.
        let _ = self.is_paused.subscribe().wait_for(|is_paused| !is_paused).await;
    }

    /// Pauses the server; no request of a client is handled after this returns.
    pub(super) fn pause(&self) {
        let _state = self.state();
        self.is_paused.send_replace(true);
    }

    pub(super) fn resume(&self) {
        self.advance(&mut self.state());
        self.is_paused.send_replace(false);
    }

    /// Removes all connections, which must be closed already.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.routes.clear();
        state.model.disconnect_all();
    }

    pub(super) fn start_again(&self, prepare: fn(&mut Model, Duration)) {
        let mut state = self.state();
        state.routes.clear();
        prepare(&mut state.model, self.clock.now());
        self.is_paused.send_replace(false);
    }

    fn advance(&self, state: &mut State) {
        state.model.advance(self.clock.now());
        state.dispatch();
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The model, and the channels and the counts of its connections.
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
    /// Messages to send; `None` closes the connection.
    pub(super) outgoing: mpsc::Sender<Option<Message>>,
    /// Cancelled when the model has closed the connection, or the client does not read.
    pub(super) closing: CancellationToken,
    pub(super) traffic: Traffic,
}

/// The numbers of packets received and sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) received: u64,
    pub(super) sent: u64,
}

impl State {
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
                Output::Send(id, message) => self.give(id, Some(message)),
                Output::Close(id) => self.give(id, None),
            }
        }
    }

    fn give(&mut self, id: ConnectionId, outgoing: Option<Message>) {
        // After a message that could not be queued, no later one may be sent.
        let Some(route) = self.routes.get_mut(&id).filter(|route| !route.closing.is_cancelled()) else {
            return;
        };
        match outgoing {
            Some(_) => {
                self.traffic.sent += 1;
                route.traffic.sent += 1;
            }
            None => route.closing.cancel(),
        }
        if let Err(TrySendError::Full(_)) = route.outgoing.try_send(outgoing) {
            tracing::warn!(peer = %route.peer, "disconnected a client that does not read");
            route.closing.cancel();
        }
    }
}

/// A clock that starts at the time of the wall clock and is monotonic from then on.
#[derive(Debug)]
struct Clock {
    base: Duration,
    start: Instant,
}

impl Clock {
    fn now(&self) -> Duration {
        self.base + self.start.elapsed()
    }
}
