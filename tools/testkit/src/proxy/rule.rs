//! The rules of a proxy: the frames that they strike, and the faults that strike them.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::state::{Armed, State};
use crate::wire::Opcode;

/// A rule whose fault is not chosen yet.
///
/// The rule applies to frames that arrive after its fault is chosen. By default it strikes only the next one.
#[derive(Debug)]
#[must_use = "a rule does nothing until its fault is chosen"]
pub struct RuleBuilder<'a> {
    state: &'a State,
    trigger: Trigger,
}

impl<'a> RuleBuilder<'a> {
    /// Creates the builder of a rule that strikes only the next frame.
    pub(super) fn new(state: &'a State, matches: impl Fn(Kind) -> bool + Send + Sync + 'static) -> Self {
        Self { state, trigger: Trigger { matches: Arc::new(Function(matches)), skip: 0, times: Some(1) } }
    }

    /// Makes the n-th frame, counted from one, the first that the rule strikes.
    ///
    /// # Panics
    ///
    /// Panics if `n` is zero.
    pub fn nth(mut self, n: u64) -> Self {
        self.trigger.skip = n.checked_sub(1).expect("frames are counted from one");
        self
    }

    /// Strikes this many frames in a row.
    pub fn times(mut self, times: u64) -> Self {
        self.trigger.times = Some(times);
        self
    }

    /// Strikes all following frames.
    pub fn always(mut self) -> Self {
        self.trigger.times = None;
        self
    }

    /// Drops the frame and leaves the connection open.
    ///
    /// No network does this to a TCP stream: a client that gets the next reply without the one before it sees
    /// replies out of order, and ends the connection. To lose a reply as a network does, use
    /// [`cut`](Self::cut).
    pub fn discard(self) -> Rule {
        self.arm(Fault::Discard)
    }

    /// Ends the connection instead of passing the frame on.
    ///
    /// The frames in front of it still arrive. If a request is cut, the server has not seen it; if a reply is
    /// cut, the server has processed the request and the client cannot know.
    pub fn cut(self, how: How) -> Rule {
        self.arm(Fault::Cut(how))
    }

    /// Passes the frame on and ends the connection right behind it.
    ///
    /// If the frame is a request, the server receives it but its reply is lost. If the frame is a reply, it is
    /// the last one that the client reads; a reset ([`How::Rst`]) may overtake it, as on a network.
    pub fn cut_after(self, how: How) -> Rule {
        self.arm(Fault::CutAfter(how))
    }

    /// Passes the frame on later by this delay; the frames behind it stay behind it.
    pub fn delay(self, delay: Duration) -> Rule {
        self.arm(Fault::Delay(delay))
    }

    /// Holds the frame, and those behind it, until it is released.
    ///
    /// A request stays held even if its client has gone in the meantime, on its own or because of a
    /// [`Proxy::cut`](super::Proxy::cut). To the server, the connection looks open until the request is
    /// released; then the request arrives, followed by the end of the connection. If the client has
    /// reconnected to the same session in the meantime, the server has closed the older connection and
    /// ignores the request.
    pub fn hold(self) -> Hold {
        let released = CancellationToken::new();
        Hold { rule: self.arm(Fault::Hold(released.clone())), released }
    }

    /// Replaces the frame's body by the one that `rewriter` returns.
    pub fn rewrite(self, rewriter: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> Rule {
        self.arm(Fault::Rewrite(Arc::new(Function(rewriter))))
    }

    fn arm(self, fault: Fault) -> Rule {
        let hits = Arc::new(watch::Sender::default());
        self.state.arm(Armed { trigger: self.trigger, fault, hits: Arc::clone(&hits) });
        Rule { hits }
    }
}

/// A rule in force, which counts the frames that it strikes.
///
/// It stays in force when this value is dropped; [`Proxy::clear`](super::Proxy::clear) removes it.
#[derive(Clone, Debug)]
pub struct Rule {
    hits: Arc<watch::Sender<u64>>,
}

impl Rule {
    /// Returns how many frames the rule has struck. A frame is struck when it arrives at the proxy.
    pub fn hits(&self) -> u64 {
        *self.hits.borrow()
    }

    /// Waits until the rule has struck a frame.
    ///
    /// It waits forever if the rule was removed before.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn struck(&self) {
        self.struck_times(1).await;
    }

    /// Waits until the rule has struck this many frames.
    ///
    /// It waits forever if the rule was removed before.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn struck_times(&self, times: u64) {
        // `self` owns the sender, so the channel cannot be closed.
        let _ = self.hits.subscribe().wait_for(|&hits| hits >= times).await;
    }
}

/// A rule that holds frames until they are released.
///
/// They stay held when this value is dropped; [`Proxy::clear`](super::Proxy::clear) also releases them.
#[derive(Clone, Debug)]
pub struct Hold {
    rule: Rule,
    released: CancellationToken,
}

impl Hold {
    /// Passes the held frames on. After that, the rule holds no more frames.
    pub fn release(&self) {
        self.released.cancel();
    }
}

impl Deref for Hold {
    type Target = Rule;

    fn deref(&self) -> &Rule {
        &self.rule
    }
}

/// The way in which a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// In order, as if the other process closes the connection: the next read finds the end of the stream.
    Fin,
    /// With a reset, as if the other machine no longer knows the connection: reads and writes fail.
    Rst,
}

/// The effect of a rule on a frame.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    Discard,
    Cut(How),
    CutAfter(How),
    Delay(Duration),
    /// Holds frames until this is cancelled.
    Hold(CancellationToken),
    /// Replaces the body by the one that this returns.
    Rewrite(Arc<Function<Rewrite>>),
}

type Rewrite = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

/// A function, which has no text.
pub(super) struct Function<F: ?Sized>(pub(super) F);

impl<F: ?Sized> fmt::Debug for Function<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function")
    }
}

/// The kind of a frame, for rules and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Request(Opcode),
    Reply(Opcode, Answer),
    /// A reply to no known request, for example because the number of the request was rewritten.
    Unasked,
    Notification,
}

/// What a reply tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    /// The reason why the request failed.
    Refusal,
    /// A new node: the answer to `create2`, or to a transaction that begins with a create.
    Created,
    Other,
}

/// A counter of the frames that a rule applies to, which decides which of them it strikes.
#[derive(Debug)]
pub(super) struct Trigger {
    matches: Arc<Function<dyn Fn(Kind) -> bool + Send + Sync>>,
    /// The number of frames that pass before the first one is struck.
    skip: u64,
    /// The number of frames that are struck then; `None` for all that follow.
    times: Option<u64>,
}

impl Trigger {
    /// Counts the next frame, and returns whether it is struck.
    pub(super) fn strikes(&mut self, kind: Kind) -> bool {
        if !(self.matches.0)(kind) {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        let strikes = self.times != Some(0);
        self.times = self.times.map(|left| left.saturating_sub(1));
        strikes
    }
}
