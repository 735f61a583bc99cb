use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::wire::Opcode;

mod connection;
mod conversation;
mod counts;
mod fault;
mod link;
mod listen;
mod rule;
mod state;
mod stream;
mod trigger;

pub use counts::Counts;
pub use fault::How;
pub use link::Direction;
use link::{Admission, Link, Pace, Passage};
pub use rule::{Hold, Rule, RuleBuilder};
use state::State;
use trigger::Matcher;

/// A proxy in front of a ZooKeeper server that loses, delays and spoils what clients and the server say.
///
/// It listens on a free loopback port and knows the frames of the protocol. **Rules** strike single frames: of an
/// opcode, the n-th from now, so many of them. **Faults of the link** strike everything between all clients and
/// the server, until they [`heal`](Self::heal). Whatever is done to them, frames stay in their order, as those of
/// a TCP stream do. Four-letter words pass as they are.
///
/// The reply to the next create is lost, with the connection, after the server has created the node:
///
/// ```no_run
/// use zklock_testkit::{How, Proxy, ZooKeeper, wire::Opcode};
///
/// # async fn example() -> Result<(), zklock_testkit::Error> {
/// let zookeeper = ZooKeeper::start()?;
/// let proxy = Proxy::start(zookeeper.address())?;
/// let lost = proxy.on_reply(Opcode::CREATE2).cut(How::Fin);
/// // … a client of `proxy.connect_string()` creates a node …
/// lost.struck().await;
/// # Ok(())
/// # }
/// ```
///
/// Rules look at each frame when it arrives, in the order in which they were made. A frame that one strikes is not
/// seen by those after it. A frame that is malformed ends its connection in order, and nothing else.
///
/// The proxy runs on a thread of its own: its methods need no runtime and do not block. Dropping it ends all
/// connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    connect_string: String,
    state: Arc<State>,
    end: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy in front of the server at this address, which need not run yet.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when there is no port or no thread to be had.
    pub fn start(server: SocketAddr) -> Result<Self, Error> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::io("bind a proxy"))?;
        let address = listener.local_addr().map_err(Error::io("find the port of a proxy"))?;
        let (state, end) = (Arc::new(State::new(server)), CancellationToken::new());
        let (ready, is_ready) = mpsc::channel();
        let run = {
            let (state, end) = (Arc::clone(&state), end.clone());
            move || listen::run(listener, state, end, ready)
        };
        let name = format!("zk-proxy-{}", address.port());
        let thread = thread::Builder::new().name(name).spawn(run).map_err(Error::io("start a proxy"))?;
        is_ready.recv().expect("the thread tells how it started").map_err(Error::io("start a proxy"))?;
        Ok(Self { address, connect_string: address.to_string(), state, end, thread: Some(thread) })
    }

    /// Where clients connect, as `127.0.0.1:PORT`.
    pub fn connect_string(&self) -> &str {
        &self.connect_string
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes a rule for the requests with this opcode; [`Opcode::CREATE_SESSION`] is the first of a connection.
    pub fn on_request(&self, opcode: Opcode) -> RuleBuilder<'_> {
        self.on(Matcher::Request(opcode))
    }

    /// Makes a rule for all requests, with pings and the first frames of connections.
    pub fn on_any_request(&self) -> RuleBuilder<'_> {
        self.on(Matcher::AnyRequest)
    }

    /// Makes a rule for the replies to the requests with this opcode.
    pub fn on_reply(&self, opcode: Opcode) -> RuleBuilder<'_> {
        self.on(Matcher::Reply(opcode))
    }

    /// Makes a rule for the replies to those requests with this opcode that the server did, and did not refuse.
    pub fn on_success(&self, opcode: Opcode) -> RuleBuilder<'_> {
        self.on(Matcher::Success(opcode))
    }

    /// Makes a rule for all replies, with those to pings and to the first frames of connections.
    pub fn on_any_reply(&self) -> RuleBuilder<'_> {
        self.on(Matcher::AnyReply)
    }

    /// Makes a rule for the events of watches.
    pub fn on_notification(&self) -> RuleBuilder<'_> {
        self.on(Matcher::Notification)
    }

    fn on(&self, matcher: Matcher) -> RuleBuilder<'_> {
        RuleBuilder::new(&self.state, matcher)
    }

    /// Removes all rules, and releases what they hold.
    pub fn clear(&self) {
        self.state.disarm();
    }

    /// Ends all connections that there are. New ones are accepted.
    ///
    /// Clients see the end at once, and nothing that was on its way to them. What is on its way to the server
    /// still arrives there, and the end after it.
    pub fn cut(&self, how: How) {
        self.state.cut(how, |_| true);
    }

    /// Ends the connection of a session as [`cut`](Self::cut) does, and tells whether it had one.
    pub fn cut_session(&self, session_id: i64, how: How) -> bool {
        self.state.cut(how, |session| session == Some(session_id)) > 0
    }

    /// The sessions that the server has let clients attach to on the connections that there are.
    pub fn sessions(&self) -> Vec<i64> {
        self.state.sessions()
    }

    /// Lets nothing arrive in a direction, not even the end of a connection, until the link heals.
    ///
    /// What is on its way arrives late, then: TCP sends it again. A connection that is made in the meantime reaches
    /// the server when the link heals, unless its client has gone by then, because TCP needs both directions
    /// to make one. To lose what is on its way to clients, [`cut`](Self::cut) before the link heals.
    pub fn blackhole(&self, direction: Direction) {
        self.change(|link| link.change(direction, |lane| lane.passage = Passage::Blackhole));
    }

    /// Makes everything in a direction take so much longer, until the link heals. It replaces an earlier delay.
    pub fn delay(&self, direction: Direction, delay: Duration) {
        self.change(|link| link.change(direction, |lane| lane.delay = delay));
    }

    /// Lets each connection pass so many bytes per second in a direction, until the link heals.
    ///
    /// # Panics
    ///
    /// When `bytes_per_second` is zero; that is a [`blackhole`](Self::blackhole).
    pub fn throttle(&self, direction: Direction, bytes_per_second: u64) {
        assert!(bytes_per_second > 0, "a link that passes nothing is a blackhole");
        let pace = Pace::BytesPerSecond(bytes_per_second);
        self.change(|link| link.change(direction, |lane| lane.pace = pace));
    }

    /// Resets new connections as soon as they are made, until the link heals. Present ones stay.
    ///
    /// The proxy still listens, so that connecting may work; then the first read or write fails.
    pub fn refuse(&self) {
        self.change(|link| link.admission = Admission::Refuse);
    }

    /// Ends what [`blackhole`](Self::blackhole), [`delay`](Self::delay), [`throttle`](Self::throttle) and
    /// [`refuse`](Self::refuse) do. Rules stay.
    pub fn heal(&self) {
        self.change(|link| *link = Link::default());
    }

    fn change(&self, change: impl FnOnce(&mut Link)) {
        self.state.link.send_modify(change);
    }

    /// What has arrived so far.
    pub fn counts(&self) -> Counts {
        self.state.counts()
    }

    /// How many requests have arrived with this opcode.
    pub fn requests(&self, opcode: Opcode) -> u64 {
        self.counts().requests(opcode)
    }

    /// How many requests have arrived, with pings and the first frames of connections.
    pub fn requests_total(&self) -> u64 {
        self.counts().requests_total()
    }

    /// How many replies have arrived to requests with this opcode.
    pub fn replies(&self, opcode: Opcode) -> u64 {
        self.counts().replies(opcode)
    }

    /// How many watch events have arrived.
    pub fn notifications(&self) -> u64 {
        self.counts().notifications()
    }

    /// How many connections were accepted, with those that ended and without those that were refused.
    pub fn connections(&self) -> u64 {
        self.counts().connections()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.end.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed when it happened.
            let _ = thread.join();
        }
    }
}
