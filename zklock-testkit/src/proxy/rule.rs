use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::fault::{Fault, Gate, How};
use super::state::{Armed, State};
use super::trigger::{Matcher, Repeat, Trigger};
use crate::eventually;

/// A rule whose fault is still to be named.
///
/// It looks at the frames that arrive after the fault is named. Unless told otherwise, it strikes the next one.
#[derive(Debug)]
#[must_use = "a rule does nothing before its fault is named"]
pub struct RuleBuilder<'a> {
    state: &'a State,
    trigger: Trigger,
}

impl<'a> RuleBuilder<'a> {
    pub(super) fn new(state: &'a State, matcher: Matcher) -> Self {
        Self { state, trigger: Trigger::new(matcher) }
    }

    /// Strikes the n-th of the frames, counted from one, and not those before it.
    ///
    /// # Panics
    ///
    /// When `n` is zero.
    pub fn nth(mut self, n: u64) -> Self {
        self.trigger.skip = n.checked_sub(1).expect("frames are counted from one");
        self
    }

    /// Strikes so many frames one after the other.
    pub fn times(mut self, times: u64) -> Self {
        self.trigger.repeat = Repeat::Times(times);
        self
    }

    /// Strikes all frames that follow.
    pub fn always(mut self) -> Self {
        self.trigger.repeat = Repeat::Always;
        self
    }

    /// Swallows the frame and leaves the connection open.
    ///
    /// No network does this to TCP: a client that gets the next reply without the one before it sees replies
    /// out of order, and ends the connection. [`cut`](Self::cut) is how replies are lost.
    pub fn discard(self) -> Rule {
        self.arm(Fault::Discard)
    }

    /// Ends the connection instead of passing the frame on.
    ///
    /// What travels in front of the frame arrives. After a request that is cut, the server has not seen it;
    /// after a reply that is cut, the server has done what was asked and the client cannot know.
    pub fn cut(self, how: How) -> Rule {
        self.arm(Fault::Cut(how))
    }

    /// Passes the frame on and ends the connection right behind it.
    ///
    /// A request that is cut after reaches the server, and nobody hears what came of it. A reply that is cut
    /// after by [`How::Fin`] is the last that its client reads; a reset may overtake it, as on a network.
    pub fn cut_after(self, how: How) -> Rule {
        self.arm(Fault::CutAfter(how))
    }

    /// Passes the frame on so much later, and those behind it not before it.
    pub fn delay(self, delay: Duration) -> Rule {
        self.arm(Fault::Delay(delay))
    }

    /// Passes the frame, and those behind it, on when it is released.
    ///
    /// A request is held even when its client has gone in the meantime, by itself or by a
    /// [`Proxy::cut`](super::Proxy::cut): the server sees its connection as open until the request is released,
    /// gets the request, and sees the connection end after it. A server that a client has come back to in the
    /// meantime, for the same session, has closed the older connection and ignores the request.
    pub fn hold(self) -> Hold {
        let gate = Gate::shut();
        Hold { rule: self.arm(Fault::Hold(gate.clone())), gate }
    }

    /// Inverts every byte of the frame's body, and leaves its length.
    pub fn corrupt(self) -> Rule {
        self.arm(Fault::corrupt())
    }

    /// Passes another body on instead of the frame's.
    pub fn rewrite(self, rewriter: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> Rule {
        self.arm(Fault::Rewrite(Arc::new(rewriter)))
    }

    /// Passes the frame's length and the first `keep` bytes of its body on, and ends the connection in order.
    pub fn truncate(self, keep: usize) -> Rule {
        self.arm(Fault::Truncate(keep))
    }

    fn arm(self, fault: Fault) -> Rule {
        let hits = Arc::new(watch::Sender::default());
        self.state.arm(Armed { trigger: self.trigger, fault, hits: Arc::clone(&hits) });
        Rule { hits }
    }
}

/// A rule that is in force, to see how often it has struck.
///
/// It stays in force when this value is dropped; [`Proxy::clear`](super::Proxy::clear) ends it.
#[derive(Clone)]
pub struct Rule {
    hits: Arc<watch::Sender<u64>>,
}

impl Rule {
    /// How many frames it has struck. A frame is struck when it arrives at the proxy.
    pub fn hits(&self) -> u64 {
        *self.hits.borrow()
    }

    /// Waits until it has struck a frame.
    ///
    /// It waits for ever when the rule was cleared before.
    pub async fn struck(&self) {
        self.struck_times(1).await;
    }

    /// Waits until it has struck so many frames.
    ///
    /// It waits for ever when the rule was cleared before.
    pub async fn struck_times(&self, times: u64) {
        // The sender is ours, so that the channel cannot be closed.
        let _ = self.hits.subscribe().wait_for(|&hits| hits >= times).await;
    }

    /// Blocks the thread until it has struck a frame, and tells whether it did within this time.
    #[must_use]
    pub fn struck_within(&self, within: Duration) -> bool {
        eventually(within, || (self.hits() > 0).then_some(())).is_some()
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("hits", &self.hits()).finish()
    }
}

/// A rule that holds frames, to release them.
///
/// They stay held when this value is dropped; [`Proxy::clear`](super::Proxy::clear) releases them, too.
#[derive(Clone, Debug)]
pub struct Hold {
    rule: Rule,
    gate: Gate,
}

impl Hold {
    /// How many frames it has held.
    pub fn hits(&self) -> u64 {
        self.rule.hits()
    }

    /// Waits until it holds a frame; for ever when the rule was cleared before.
    pub async fn struck(&self) {
        self.rule.struck().await;
    }

    /// What it has in common with other rules.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Passes the held frames on. The rule holds no others after that.
    pub fn release(&self) {
        self.gate.release();
    }
}
