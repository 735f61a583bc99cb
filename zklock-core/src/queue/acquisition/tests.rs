//! The machine, event by event, where the simulation does not see a mistake: which node it keeps, and what it still looks for.

use uuid::Uuid;

use super::super::predicate::Role;
use super::*;

const SESSION: i64 = 7;

fn id() -> ContenderId {
    ContenderId::new(Uuid::from_u64_pair(9, 1 << 20))
}

fn node(sequence: u32) -> Node {
    let name = format!("{}{sequence:010}", id().node_prefix(Role::Exclusive));
    Node { name, zxid: 100 + i64::from(sequence), owner: SESSION }
}

fn started() -> Acquisition {
    let (machine, action) = Acquisition::start(id(), Predicate::place(Role::Exclusive), SESSION);
    assert_eq!(action, Action::Enter(id()));
    machine
}

#[track_caller]
fn check(machine: &mut Acquisition, event: Event, expected: Action) {
    assert_eq!(machine.on(event), Some(expected));
}

fn delete(node: &Node) -> Action {
    Action::Delete(vec![node.name.clone()])
}

#[test]
fn a_create_that_is_cancelled_before_it_was_sent_is_not_sent() {
    let mut machine = started();
    assert_eq!(machine.on(Event::Cancel), None);
    check(&mut machine, Event::Skipped, Action::Finish(End::Withdrawn));
}

#[test]
fn a_withdrawal_after_an_unknown_create_is_done_when_the_node_was_found_and_deleted() {
    let mut machine = started();
    assert_eq!(machine.on(Event::Cancel), None);
    check(&mut machine, Event::Unknown, Action::Locate(id()));
    check(&mut machine, Event::Located(vec![node(4)]), delete(&node(4)));
    check(&mut machine, Event::Deleted, Action::Finish(End::Withdrawn));
    assert!(!machine.has_unknown_nodes());
}

#[test]
fn a_withdrawal_looks_for_the_node_of_an_earlier_attempt_until_none_is_left() {
    let mut machine = started();
    check(&mut machine, Event::Unknown, Action::Locate(id()));
    let second = id().next_attempt();
    check(&mut machine, Event::Located(vec![]), Action::Enter(second));
    let own = Node { name: format!("{}0000000005", second.node_prefix(Role::Exclusive)), ..node(5) };
    check(&mut machine, Event::Entered(own.clone(), Sight::Alone), Action::Hold(own.clone()));
    check(&mut machine, Event::Cancel, delete(&own));
    check(&mut machine, Event::Deleted, Action::Locate(second));
    check(&mut machine, Event::Located(vec![node(4)]), delete(&node(4)));
    check(&mut machine, Event::Deleted, Action::Locate(second));
    check(&mut machine, Event::Located(vec![]), Action::Finish(End::Withdrawn));
    assert!(machine.has_unknown_nodes());
}

#[test]
fn the_oldest_of_several_nodes_is_kept_and_all_are_withdrawn() {
    let (old, new) = (node(4), node(9));
    let both = Event::Located(vec![new.clone(), old.clone()]);
    let mut machine = started();
    check(&mut machine, Event::Unknown, Action::Locate(id()));
    check(&mut machine, both.clone(), Action::List);
    let listed = Event::Listed(vec![new.name.to_string(), old.name.to_string()]);
    check(&mut machine, listed, delete(&new));
    check(&mut machine, Event::Deleted, Action::List);
    check(&mut machine, Event::Listed(vec![old.name.to_string()]), Action::Hold(old.clone()));
    let mut machine = started();
    check(&mut machine, Event::Unknown, Action::Locate(id()));
    assert_eq!(machine.on(Event::Cancel), None);
    check(&mut machine, both, Action::Delete(vec![new.name, old.name]));
}

#[test]
fn a_downgrade_that_is_refused_when_it_may_be_done_already_leaves_nothing() {
    let (mut machine, _) = Acquisition::start(id(), Predicate::place(Role::Write), SESSION);
    let place =
        |id: ContenderId, role| Node { name: format!("{}0000000001", id.node_prefix(role)), ..node(1) };
    let writer = place(id(), Role::Write);
    let reader = place(id().next_attempt(), Role::Read);
    check(&mut machine, Event::Entered(writer.clone(), Sight::Alone), Action::Hold(writer.clone()));
    machine.on(Event::Downgrade);
    machine.on(Event::Unknown);
    check(&mut machine, Event::Refused, Action::Hold(writer.clone()));
    check(&mut machine, Event::Cancel, delete(&writer));
    check(&mut machine, Event::Deleted, Action::Locate(id().next_attempt()));
    check(&mut machine, Event::Located(vec![reader.clone()]), delete(&reader));
}
