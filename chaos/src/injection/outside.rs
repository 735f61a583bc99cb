//! Faults that an outsider of the locks causes: ended sessions, and deleted nodes.

use std::time::Duration;

use zklock_testkit::history::Event;

use crate::schedule::Fault;
use crate::settings::NAMESPACE;

use super::field::{Field, Outcome, Victim};

/// Ends the sessions of a process at the servers.
pub(super) fn end_session(field: &Field, fault: &Fault, victim: &Victim) -> Outcome {
    let number = field.chronicle.began(fault, &format!("of {victim:x?}"));
    for session in &victim.sessions {
        field.chronicle.note(Event::SessionEnded { process: victim.process });
        if !field.runtime.block_on(field.outsider.end_session(*session, || !field.end.has_rung())) {
            field.chronicle.say(&format!("the session {session:x} goes on"));
        }
        // Slow servers end the session late, and holds that are granted until then end with it.
        field.chronicle.note(Event::SessionEnded { process: victim.process });
    }
    field.chronicle.ended(number);
    Ok(())
}

/// Deletes the node of one contender: the first one of its queue in half of the cases.
pub(super) fn delete_node(field: &Field, fault: &Fault, pick: u64) -> Outcome {
    let queues: Vec<_> = field.workloads.iter().flat_map(|workload| workload.queues()).collect();
    let first = usize::try_from(pick >> 16).unwrap_or_default();
    for nth in 0..queues.len() {
        let (lock, queue) = queues[(first + nth) % queues.len()];
        let queue = format!("{NAMESPACE}{queue}");
        let children = field.runtime.block_on(field.outsider.children(&queue))?;
        let place =
            if pick.is_multiple_of(2) { 0 } else { usize::try_from(pick >> 1 & 0x7f).unwrap_or_default() };
        let Some(path) = children.get(place % children.len().max(1)) else { continue };
        let Some(zxid) = field.runtime.block_on(field.outsider.created(path))? else { continue };
        let broken = Event::LockBroken { lock: lock.to_owned(), zxid: Some(zxid) };
        field.chronicle.note(broken.clone());
        let deleted = field.runtime.block_on(field.outsider.delete(path));
        // Slow servers delete the node late, and holds that are granted until then end with it.
        field.chronicle.note(broken);
        let was_there = deleted?;
        let number = field.chronicle.began(fault, &format!("{path}, deleted: {was_there}"));
        field.chronicle.ended(number);
        return Ok(());
    }
    Err("no lock has a contender".into())
}

/// Deletes the queues without contenders, as the servers do with containers, but far more often.
pub(super) fn reap(field: &Field, fault: &Fault, lasts: Duration) -> Outcome {
    let number = field.chronicle.began(fault, "");
    let queues = field.workloads.iter().flat_map(|workload| workload.queues());
    let paths: Vec<_> = queues.map(|(_, queue)| format!("{NAMESPACE}{queue}")).collect();
    let deletions = field.runtime.block_on(field.outsider.reap(&paths, lasts))?;
    field.chronicle.say(&format!("{deletions} empty queues were deleted"));
    field.chronicle.ended(number);
    Ok(())
}
