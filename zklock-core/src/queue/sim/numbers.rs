//! Clients that take a lock again, with the number of their last contender in mind.

use crate::queue::acquisition::Sight;
use crate::queue::contender::Sequence;

/// The memory of a client, as in `session::queues`.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Memory {
    parent: Parent,
    /// The number of the last contender, which was first and is deleted.
    last: Option<Sequence>,
    /// The number with which the create is sent without a list.
    sent: Option<Sequence>,
}

/// Whether the client would have been told by now that the parent was deleted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
enum Parent {
    #[default]
    Unwatched,
    Watched,
}

impl Memory {
    /// Forgets everything, because the connection broke or the parent is gone.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns what a client knows when its node has been created. The watch on the parent, which is set in the same
    /// flight, is only of use for a later acquisition.
    pub(super) fn sight(&mut self, children: Vec<String>) -> Sight {
        match (self.sent.take(), self.parent) {
            (Some(last), Parent::Watched) => Sight::After(last),
            (Some(_), Parent::Unwatched) => Sight::Nothing,
            (None, _) => Sight::Listed(children),
        }
    }

    pub(super) fn watch(&mut self) {
        self.parent = Parent::Watched;
    }

    /// Notes that the event of the parent's deletion has come.
    pub(super) fn miss_the_parent(&mut self) {
        self.parent = Parent::Unwatched;
    }

    /// Sends the next create without a list if the last number is known.
    pub(super) fn enter(&mut self) {
        self.sent = self.last.take();
    }

    /// Remembers the number of a contender that has left.
    pub(super) fn leave(&mut self, number: Option<Sequence>) {
        self.last = number.filter(|_| self.parent == Parent::Watched);
    }
}
