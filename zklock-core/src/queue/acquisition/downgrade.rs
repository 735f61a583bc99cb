//! The downgrade of a writer to a reader.

use smallvec::smallvec;

use crate::queue::contender::Contender;
use crate::queue::predicate::{Predicate, Role};

use super::{Acquisition, Action, Event, Intent, Node, Replacement, Standing, State, Traces};

impl Acquisition {
    /// Replaces the writer's node with a reader's. The name changes but the sequence does not, so
    /// that the contenders behind stay behind (CURATOR-621).
    pub(super) fn downgrade(&mut self, node: Node) -> Action {
        let Some(contender) = Contender::parse(&node.name) else {
            return self.hold(node);
        };
        // The transaction takes the next number.
        self.standing = Standing::Unknown;
        self.id = self.id.next_attempt();
        let new = format!("{}{}", self.id.node_prefix(Role::Read), contender.sequence);
        let replacement = Replacement { old: node, new };
        self.state = State::Downgrading(replacement.clone());
        Action::Downgrade(replacement)
    }

    /// Handles the outcome of a downgrade. The same transaction is sent again until its outcome is
    /// known: if it was applied before, the new name is taken, and no other contender uses that name.
    pub(super) fn downgraded(&mut self, replacement: Replacement, outcome: Event) -> Action {
        let Replacement { old, new } = replacement.clone();
        match outcome {
            _ if self.intent != Intent::Acquire => self.delete(smallvec![new, old.name]),
            Event::Downgraded(name) => {
                self.predicate = Predicate::place(Role::Read);
                self.hold(Node { name, ..old })
            }
            Event::Refused => self.hold(old),
            Event::OwnNodeGone => self.gone(),
            _ => {
                // The reader's node may exist even if the next transaction is refused.
                self.traces = Traces::Possible;
                Action::Downgrade(replacement)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::queue::acquisition::{End, Sight};
    use crate::queue::contender::ContenderId;

    const SESSION: i64 = 7;

    fn id() -> ContenderId {
        ContenderId::new(Uuid::from_u64_pair(9, 1 << 20))
    }

    #[track_caller]
    fn check(machine: &mut Acquisition, event: Event, expected: Action) {
        assert_eq!(machine.on(event), Some(expected));
    }

    fn delete(node: &Node) -> Action {
        Action::Delete(smallvec![node.name.clone()])
    }

    fn writer() -> (Acquisition, Node) {
        let (mut machine, _) = Acquisition::start(id(), Predicate::place(Role::Write), SESSION);
        let name = format!("{}0000000001", id().node_prefix(Role::Write));
        let writer = Node { name: name.as_str().into(), zxid: 101, owner: SESSION };
        check(
            &mut machine,
            Event::Entered(writer.clone(), Sight::Listed(vec![name])),
            Action::Hold(writer.clone()),
        );
        (machine, writer)
    }

    fn reader_of(writer: &Node) -> Node {
        let name = format!("{}0000000001", id().next_attempt().node_prefix(Role::Read));
        Node { name, ..writer.clone() }
    }

    #[test]
    fn a_downgrade_keeps_the_writers_sequence_and_is_sent_until_its_outcome_is_known() {
        let (mut machine, writer) = writer();
        let reader = reader_of(&writer);
        let replace = Action::Downgrade(Replacement { old: writer, new: reader.name.clone() });
        check(&mut machine, Event::Downgrade, replace.clone());
        check(&mut machine, Event::Unknown, replace);
        check(&mut machine, Event::Downgraded(reader.name.clone()), Action::Hold(reader.clone()));
        check(&mut machine, Event::Cancel, delete(&reader));
    }

    #[test]
    fn a_refused_downgrade_leaves_the_writer() {
        let (mut machine, writer) = writer();
        machine.on(Event::Downgrade);
        check(&mut machine, Event::Refused, Action::Hold(writer.clone()));
        check(&mut machine, Event::Cancel, delete(&writer));
    }

    #[test]
    fn a_downgrade_that_is_cancelled_withdraws_both_names() {
        let (mut machine, writer) = writer();
        machine.on(Event::Downgrade);
        assert_eq!(machine.on(Event::Cancel), None);
        let both = smallvec![reader_of(&writer).name, writer.name];
        check(&mut machine, Event::Unknown, Action::Delete(both));
        check(&mut machine, Event::Deleted, Action::Finish(End::Withdrawn));
    }

    #[test]
    fn a_downgrade_that_is_refused_when_it_may_be_done_already_leaves_nothing() {
        let (mut machine, writer) = writer();
        machine.on(Event::Downgrade);
        machine.on(Event::Unknown);
        check(&mut machine, Event::Refused, Action::Hold(writer.clone()));
        check(&mut machine, Event::Cancel, delete(&writer));
        check(&mut machine, Event::Deleted, Action::Locate(id().next_attempt()));
        check(&mut machine, Event::Located(vec![reader_of(&writer)]), delete(&reader_of(&writer)));
    }
}
