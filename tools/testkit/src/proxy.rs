//! A proxy that injects faults between clients and a server.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use crate::Error;
use crate::listener::{Listener, accept, loopback};
use crate::wire::Opcode;

mod connection;
mod rule;
mod state;
mod stream;

use rule::{Answer, Kind};
pub use rule::{Hold, How, Rule, RuleBuilder};
pub use state::{Counts, Direction};
use state::{Link, State};

/// A proxy in front of a ZooKeeper server that loses, delays and corrupts frames in both directions.
///
/// It listens on a free port of a loopback address, where no connection of another program starts if the system
/// has several such addresses, and decodes the frames of the protocol. **Rules** strike single frames:
/// those of an opcode, starting with the n-th, a given number of times. **Faults of the link** affect
/// everything between all clients and the server, until a call of [`heal`](Self::heal). In spite of any
/// faults, frames stay in order, as in any TCP stream. Four-letter words pass unchanged.
///
/// Here the reply to the next create is lost, along with its connection, after the node was created:
///
/// ```no_run
/// use zklock_testkit::{EmbeddedServer, How, Proxy, wire::Opcode};
///
/// # async fn example() -> Result<(), zklock_testkit::Error> {
/// let server = EmbeddedServer::start()?;
/// let proxy = Proxy::start(server.address())?;
/// let lost = proxy.on_reply(Opcode::CREATE2).cut(How::Fin);
/// // … a client of `proxy.connect_string()` creates a node …
/// lost.struck().await;
/// # Ok(())
/// # }
/// ```
///
/// Each frame is matched against the rules when it arrives, in the order in which the rules were made. The
/// rules after the one that strikes it do not see the frame. A malformed frame ends its own connection in
/// order, and has no other effect.
///
/// The proxy runs on its own thread: its methods need no runtime and do not block. Dropping it ends all
/// connections.
#[derive(Debug)]
pub struct Proxy {
    connect_string: String,
    state: Arc<State>,
    listener: Listener,
}

impl Proxy {
    /// Starts a proxy in front of the server at this address, which need not be running yet.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if no port or thread is available.
    pub fn start(server: SocketAddr) -> Result<Self, Error> {
        Self::listen(loopback(), State::new(server, false))
    }

    /// Starts a proxy that carries any bytes, so that only faults of the link affect them. It listens at the host of the
    /// server, which is told one host for all of its ports.
    #[cfg(feature = "real")]
    pub(crate) fn of_bytes(server: SocketAddr) -> Result<Self, Error> {
        Self::listen(server.ip(), State::new(server, true))
    }

    fn listen(host: impl Into<IpAddr>, state: State) -> Result<Self, Error> {
        let state = Arc::new(state);
        let served = Arc::clone(&state);
        let listener = Listener::start("zk-proxy", (host.into(), 0).into(), async move |listener| {
            loop {
                let (client, _) = accept(&listener).await;
                tokio::spawn(connection::serve(Arc::clone(&served), client));
            }
        })?;
        Ok(Self { connect_string: listener.address().to_string(), state, listener })
    }

    /// Returns the address that clients connect to, as `ADDRESS:PORT`.
    pub fn connect_string(&self) -> &str {
        &self.connect_string
    }

    /// Returns the address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Makes a rule for requests with this opcode.
    ///
    /// [`Opcode::CREATE_SESSION`] stands for the first frame of a connection.
    pub fn on_request(&self, opcode: Opcode) -> RuleBuilder<'_> {
        self.on(move |kind| kind == Kind::Request(opcode))
    }

    /// Makes a rule for all requests, including pings and the first frames of connections.
    pub fn on_any_request(&self) -> RuleBuilder<'_> {
        self.on(|kind| matches!(kind, Kind::Request(_)))
    }

    /// Makes a rule for the replies to requests with this opcode.
    pub fn on_reply(&self, opcode: Opcode) -> RuleBuilder<'_> {
        self.on(move |kind| matches!(kind, Kind::Reply(of, _) if of == opcode))
    }

    /// Makes a rule for the successful replies to requests with this opcode.
    pub fn on_success(&self, opcode: Opcode) -> RuleBuilder<'_> {
        self.on(
            move |kind| matches!(kind, Kind::Reply(of, answer) if of == opcode && answer != Answer::Refusal),
        )
    }

    /// Makes a rule for the replies that tell of a new node: to `create2`, and to a transaction that begins with a create.
    pub fn on_created(&self) -> RuleBuilder<'_> {
        self.on(|kind| matches!(kind, Kind::Reply(_, Answer::Created)))
    }

    /// Makes a rule for all replies, including those to pings and to the first frames of connections.
    pub fn on_any_reply(&self) -> RuleBuilder<'_> {
        self.on(|kind| matches!(kind, Kind::Reply(..) | Kind::Unasked))
    }

    /// Makes a rule for watch events.
    pub fn on_notification(&self) -> RuleBuilder<'_> {
        self.on(|kind| kind == Kind::Notification)
    }

    fn on(&self, matches: impl Fn(Kind) -> bool + Send + Sync + 'static) -> RuleBuilder<'_> {
        RuleBuilder::new(&self.state, matches)
    }

    /// Removes all rules, and releases the frames that they hold.
    pub fn clear(&self) {
        self.state.disarm();
    }

    /// Ends all current connections; new ones are accepted.
    ///
    /// Clients see the end at once, and lose the frames that were on their way to them. Frames on their way
    /// to the server still arrive, followed by the end of the connection.
    pub fn cut(&self, how: How) {
        self.state.cut(how);
    }

    /// Returns the sessions that are attached to the current connections.
    pub fn sessions(&self) -> Vec<i64> {
        self.state.sessions()
    }

    /// Lets nothing arrive in a direction, not even the end of a connection, until the link is healed.
    ///
    /// Frames on their way then arrive late, because TCP sends them again. TCP needs both directions to open a
    /// connection, so one that is opened in the meantime reaches the server only when the link is healed, and
    /// not at all if its client has gone by then. To lose the frames on their way to clients, call
    /// [`cut`](Self::cut) before healing the link.
    pub fn blackhole(&self, direction: Direction) {
        self.change(|link| link.change(direction, |lane| lane.is_blackhole = true));
    }

    /// Delays everything in a direction, until the link is healed. This replaces an earlier delay.
    pub fn delay(&self, direction: Direction, delay: Duration) {
        self.change(|link| link.change(direction, |lane| lane.delay = delay));
    }

    /// Resets new connections as soon as they are opened, until the link is healed. Current ones stay.
    ///
    /// The proxy still listens, so connecting may succeed; the first read or write then fails.
    pub fn refuse(&self) {
        self.change(|link| link.refuses = true);
    }

    /// Ends the effects of [`blackhole`](Self::blackhole), [`delay`](Self::delay) and [`refuse`](Self::refuse). Rules
    /// stay.
    pub fn heal(&self) {
        self.change(|link| *link = Link::default());
    }

    fn change(&self, change: impl FnOnce(&mut Link)) {
        self.state.link.send_modify(change);
    }

    /// Returns the counts of everything that has arrived so far.
    pub fn counts(&self) -> Counts {
        self.state.counts()
    }

    /// Returns how many requests with this opcode have arrived.
    pub fn requests(&self, opcode: Opcode) -> u64 {
        self.counts().requests(opcode)
    }

    /// Returns how many requests have arrived, including pings and the first frames of connections.
    pub fn requests_total(&self) -> u64 {
        self.counts().requests_total()
    }

    /// Returns how many replies to requests with this opcode have arrived.
    pub fn replies(&self, opcode: Opcode) -> u64 {
        self.counts().replies(opcode)
    }

    /// Returns how many connections were accepted, including ended ones but not refused ones.
    pub fn connections(&self) -> u64 {
        self.counts().connections()
    }
}
