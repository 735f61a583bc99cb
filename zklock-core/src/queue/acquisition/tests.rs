//! The machine, event by event. The simulation tries the other orders.

use uuid::Uuid;

use super::super::predicate::Role;
use super::*;
use crate::queue::turn::{Ahead, Obstacle};

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

fn behind(name: &str) -> Action {
    Action::Watch(Ahead { obstacle: Obstacle::Sole(name.into()), count: 1 })
}

fn head(node: &Node) -> Event {
    Event::Entered(node.clone(), Sight::Listed(vec![node.name.to_string()]))
}

#[test]
fn a_free_lock_is_held_after_one_round_trip_and_left_by_one_delete() {
    let mut machine = started();
    check(&mut machine, head(&node(1)), Action::Hold(node(1)));
    check(&mut machine, Event::Cancel, delete(&node(1)));
    check(&mut machine, Event::Deleted, Action::Finish(End::Withdrawn));
}

#[test]
fn a_taken_lock_is_held_when_a_list_shows_no_predecessor() {
    let mut machine = started();
    let (first, second) = (node(1), "x-lock-0000000000".to_owned());
    let children = Sight::Listed(vec![second.clone(), first.name.to_string()]);
    check(&mut machine, Event::Entered(first.clone(), children), behind(&second));
    check(&mut machine, Event::PredecessorGone, Action::List);
    check(&mut machine, Event::Listed(vec![first.name.to_string()]), Action::Hold(first));
}

#[test]
fn missing_parents_are_created_only_when_the_server_says_so() {
    let mut machine = started();
    check(&mut machine, Event::ParentMissing, Action::Prepare);
    check(&mut machine, Event::Prepared, Action::Enter(id()));
}

#[test]
fn a_lost_reply_is_resolved_by_locating_and_never_by_creating_blindly() {
    let mut machine = started();
    check(&mut machine, Event::Unknown, Action::Locate(id()));
    check(&mut machine, Event::Unknown, Action::Locate(id()));
    check(&mut machine, Event::Located(vec![node(4)]), Action::List);
    let mut machine = started();
    check(&mut machine, Event::Unknown, Action::Locate(id()));
    check(&mut machine, Event::Located(vec![]), Action::Enter(id().next_attempt()));
}

#[test]
fn a_node_without_a_number_of_its_own_is_withdrawn_and_says_so() {
    let last = node(i32::MAX as u32);
    let mut machine = started();
    check(&mut machine, head(&last), delete(&last));
    check(&mut machine, Event::Unknown, delete(&last));
    check(&mut machine, Event::Deleted, Action::Finish(End::Unnumbered));
}

#[test]
fn a_node_of_another_session_is_never_ours() {
    let alien = Node { owner: SESSION + 1, ..node(4) };
    let mut machine = started();
    check(&mut machine, Event::Unknown, Action::Locate(id()));
    check(&mut machine, Event::Located(vec![alien.clone()]), Action::Enter(id().next_attempt()));
    let mut machine = started();
    check(&mut machine, head(&alien), Action::Finish(End::Lost));
}

#[test]
fn a_cancelled_create_is_withdrawn_when_its_outcome_is_known() {
    let mut machine = started();
    assert_eq!(machine.on(Event::Cancel), None);
    check(&mut machine, head(&node(1)), delete(&node(1)));
    check(&mut machine, Event::Unknown, delete(&node(1)));
    check(&mut machine, Event::Deleted, Action::Finish(End::Withdrawn));
}

#[test]
fn a_create_that_is_cancelled_before_it_was_sent_is_not_sent() {
    let mut machine = started();
    assert_eq!(machine.on(Event::Cancel), None);
    check(&mut machine, Event::Skipped, Action::Finish(End::Withdrawn));
}

#[test]
fn what_is_needed_to_withdraw_is_not_skipped() {
    let mut machine = started();
    check(&mut machine, Event::Unknown, Action::Locate(id()));
    assert_eq!(machine.on(Event::Cancel), None);
    check(&mut machine, Event::Skipped, Action::Locate(id()));
    check(&mut machine, Event::Located(vec![node(4)]), delete(&node(4)));
    check(&mut machine, Event::Skipped, delete(&node(4)));
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
fn a_late_node_of_an_earlier_attempt_is_deleted_before_the_place_is_taken() {
    let mut machine = started();
    check(&mut machine, Event::Unknown, Action::Locate(id()));
    let second = id().next_attempt();
    check(&mut machine, Event::Located(vec![]), Action::Enter(second));
    let own = Node { name: format!("{}0000000005", second.node_prefix(Role::Exclusive)), ..node(5) };
    let children = vec![node(4).name.to_string(), own.name.to_string()];
    check(&mut machine, Event::Entered(own.clone(), Sight::Listed(children)), delete(&node(4)));
    check(&mut machine, Event::Deleted, Action::List);
    check(&mut machine, Event::Listed(vec![own.name.to_string()]), Action::Hold(own));
}

#[test]
fn a_lock_whose_only_contender_in_front_was_deleted_is_held_without_a_list() {
    let second = "x-lock-0000000000".to_owned();
    let mut machine = started();
    machine.on(Event::Entered(node(1), Sight::Listed(vec![second, node(1).name.to_string()])));
    let mut cancelled = machine.clone();
    check(&mut machine, Event::Inherited, Action::Hold(node(1)));
    check(&mut cancelled, Event::Cancel, delete(&node(1)));
    check(&mut cancelled, Event::Inherited, delete(&node(1)));
}

#[test]
fn of_several_nodes_the_oldest_is_kept_and_all_are_withdrawn() {
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
fn a_waiter_whose_node_was_deleted_enters_again_at_the_tail() {
    let mut machine = started();
    let children = vec!["x-lock-0000000000".into(), node(1).name.to_string()];
    machine.on(Event::Entered(node(1), Sight::Listed(children.clone())));
    check(&mut machine, Event::PredecessorGone, Action::List);
    let missing = Event::Listed(children[..1].to_vec());
    check(&mut machine, missing, Action::Enter(id().next_attempt()));
}

#[test]
fn a_refused_create_leaves_nothing_to_withdraw() {
    let mut machine = started();
    assert_eq!(machine.on(Event::Cancel), None);
    check(&mut machine, Event::Refused, Action::Finish(End::Withdrawn));
}

#[test]
fn a_refused_list_withdraws_the_node() {
    let mut machine = started();
    check(&mut machine, Event::Entered(node(1), Sight::Nothing), Action::List);
    check(&mut machine, Event::Refused, delete(&node(1)));
    check(&mut machine, Event::Deleted, Action::Finish(End::Withdrawn));
}

#[test]
fn a_refused_delete_ends_without_a_retry_loop() {
    let mut machine = started();
    machine.on(head(&node(1)));
    machine.on(Event::Cancel);
    check(&mut machine, Event::Refused, Action::Finish(End::Abandoned));
    assert_eq!(machine.on(Event::Cancel), None);
}

#[test]
fn the_end_of_the_session_ends_every_state() {
    for events in [vec![], vec![Event::Unknown], vec![head(&node(1))], vec![head(&node(1)), Event::Cancel]] {
        let mut machine = started();
        for event in events {
            machine.on(event);
        }
        check(&mut machine, Event::SessionLost, Action::Finish(End::Lost));
    }
}

#[test]
fn a_waiting_permit_looks_again_when_their_number_changes() {
    let (mut machine, _) = Acquisition::start(id(), Predicate::Permit { of: 1 }, SESSION);
    let own = Node { name: format!("{}0000000002", id().node_prefix(Role::Permit)), ..node(2) };
    let children = vec!["a-lease-0000000001".to_owned(), own.name.to_string()];
    let full = Action::Watch(Ahead { obstacle: Obstacle::Anyone, count: 1 });
    check(&mut machine, Event::Entered(own.clone(), Sight::Listed(children.clone())), full);
    check(&mut machine, Event::Permits(2), Action::List);
    check(&mut machine, Event::Listed(children), Action::Hold(own));
    assert_eq!(machine.on(Event::Permits(1)), None);
}

#[test]
fn the_number_of_a_first_contender_serves_the_next_one_after_an_answered_delete() {
    let after = |last| Event::Entered(node(8), Sight::After(number_of(&node(last)).unwrap()));
    let mut machine = started();
    check(&mut machine, after(7), Action::Hold(node(8)));
    assert_eq!(machine.last_number(), None);
    check(&mut machine, Event::Cancel, delete(&node(8)));
    check(&mut machine, Event::Skipped, delete(&node(8)));
    check(&mut machine, Event::Deleted, Action::Finish(End::Withdrawn));
    assert_eq!(machine.last_number(), number_of(&node(8)));
    for last in [6, 8, 9] {
        check(&mut started(), after(last), Action::List);
    }
    let mut cancelled = started();
    cancelled.on(Event::Cancel);
    check(&mut cancelled, after(7), delete(&node(8)));
}

#[test]
fn no_number_is_left_by_an_unanswered_delete_or_beside_others() {
    let mut machine = started();
    machine.on(head(&node(1)));
    machine.on(Event::Cancel);
    check(&mut machine, Event::Unknown, delete(&node(1)));
    check(&mut machine, Event::Deleted, Action::Finish(End::Withdrawn));
    assert_eq!(machine.last_number(), None);
    let (mut reader, _) = Acquisition::start(id(), Predicate::place(Role::Read), SESSION);
    let own = Node { name: format!("{}0000000002", id().node_prefix(Role::Read)), ..node(2) };
    let children = vec!["a-__READ__0000000001".to_owned(), own.name.to_string()];
    check(&mut reader, Event::Entered(own.clone(), Sight::Listed(children)), Action::Hold(own));
    reader.on(Event::Cancel);
    reader.on(Event::Deleted);
    assert_eq!(reader.last_number(), None);
}

#[test]
fn a_contender_in_the_queue_of_another_recipe_withdraws() {
    let mut machine = started();
    let children = vec!["a-__READ__0000000000".to_owned(), node(1).name.to_string()];
    check(&mut machine, Event::Entered(node(1), Sight::Listed(children)), delete(&node(1)));
    check(&mut machine, Event::Deleted, Action::Finish(End::Mixed(Role::Read)));
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
    let both = vec![reader_of(&writer).name, writer.name];
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
