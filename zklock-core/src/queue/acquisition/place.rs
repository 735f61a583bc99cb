//! The place of a contender in its queue.

use smallvec::smallvec;

use crate::queue::contender::{Contender, Sequence};
use crate::queue::turn::{self, Turn};

use super::{Acquisition, Action, End, Intent, Node, Seniority, Sight, Standing, State};

impl Acquisition {
    pub(super) fn entered(&mut self, node: Node, sight: Sight) -> Action {
        if node.owner != self.session {
            // The server silently reconnected this client as another session, so this session is over.
            return self.finish(End::Lost);
        }
        let number = number_of(&node);
        match sight {
            Sight::Listed(children) => self.place(node, &children),
            Sight::Alone if self.intent == Intent::Acquire => {
                self.seniority = Seniority::Settled;
                self.first(node)
            }
            Sight::After(last)
                if self.intent == Intent::Acquire && number.is_some_and(|n| n.is_next_after(last)) =>
            {
                self.seniority = Seniority::Settled;
                self.first(node)
            }
            Sight::Alone | Sight::After(_) | Sight::Nothing => self.queue(node),
        }
    }

    /// Finds the contender's place among the children, and returns the action that follows from it.
    pub(super) fn place(&mut self, node: Node, children: &[String]) -> Action {
        if self.intent != Intent::Acquire {
            return self.delete(smallvec![node.name]);
        }
        let contenders = turn::contenders(children, self.predicate.also_behind());
        let stale = turn::stale(&contenders, self.id, &node.name);
        if !stale.is_empty() {
            self.state = State::Trimming(node);
            return Action::Delete(stale);
        }
        if self.seniority == Seniority::Newcomer {
            if let Some(other) = turn::other_recipe(&contenders, &node.name, &self.predicate) {
                return self.give_up(node, End::Mixed(other));
            }
            self.seniority = Seniority::Settled;
        }
        match Turn::of(&contenders, &node.name, &self.predicate) {
            Turn::Missing => self.gone(),
            Turn::Unnumbered => self.give_up(node, End::Unnumbered),
            Turn::Head if contenders.len() == 1 => self.first(node),
            Turn::Head => self.hold(node),
            Turn::Behind(ahead) => {
                self.state = State::Waiting(node);
                Action::Watch(ahead)
            }
        }
    }

    fn give_up(&mut self, node: Node, end: End) -> Action {
        self.intent = Intent::Withdraw(end);
        self.delete(smallvec![node.name])
    }

    fn first(&mut self, node: Node) -> Action {
        self.standing = number_of(&node).map_or(Standing::Unknown, Standing::First);
        self.hold(node)
    }
}

pub(super) fn number_of(node: &Node) -> Option<Sequence> {
    Contender::parse(&node.name).map(|contender| contender.sequence)
}
