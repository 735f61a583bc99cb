//! Faults that an outsider of the locks causes: ended sessions, and deleted nodes.

use std::io;
use std::time::{Duration, Instant};

use crate::history::{Event, Process};
use crate::orders::NAMESPACE;
use crate::schedule::Fault;

use super::{Field, Outcome};

/// Ends the sessions of a process at the servers.
pub(super) fn end_session(field: &Field, fault: &Fault, process: Process, sessions: &[i64]) -> Outcome {
    field.noted(fault, &format!("of {process}, {sessions:x?}"), || {
        for session in sessions {
            field.chronicle.note(Event::SessionEnded { process });
            if !field.runtime.block_on(field.outsider.end_session(*session, || !field.end.has_rung())) {
                field.chronicle.say(&format!("the session {session:x} goes on"));
            }
            // Slow servers end the session late, and holds that are granted until then end with it.
            field.chronicle.note(Event::SessionEnded { process });
        }
        Ok(())
    })
}

/// Deletes the node of one contender: the first one of its queue in half of the cases.
pub(super) fn delete_node(field: &Field, fault: &Fault, pick: u64) -> Outcome {
    let queues: Vec<_> = field.workloads.iter().flat_map(|workload| workload.queues()).collect();
    let first = usize::try_from(pick >> 16).unwrap_or_default();
    for nth in 0..queues.len() {
        let (lock, queue) = queues[(first + nth) % queues.len()];
        let queue = format!("{NAMESPACE}{queue}");
        let children = ask(field, async || field.outsider.children(&queue).await)?;
        let place =
            if pick.is_multiple_of(2) { 0 } else { usize::try_from(pick >> 1 & 0x7f).unwrap_or_default() };
        let Some(path) = children.get(place % children.len().max(1)) else { continue };
        let Some(zxid) = ask(field, async || field.outsider.created(path).await)? else { continue };
        let broken = Event::LockBroken { lock: lock.to_owned(), zxid: Some(zxid) };
        field.chronicle.note(broken.clone());
        let deleted = field.runtime.block_on(field.outsider.delete(path));
        // Slow servers delete the node late, and holds that are granted until then end with it.
        field.chronicle.note(broken);
        let was_there = deleted?;
        return field.noted(fault, &format!("{path}, deleted: {was_there}"), || Ok(()));
    }
    Err("no lock has a contender".into())
}

/// Asks until a server answers: other faults can make all of them refuse at the same time. Gives up at the end of the run, or
/// when the servers have had the time for several elections.
fn ask<T>(field: &Field, question: impl AsyncFn() -> io::Result<T>) -> io::Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match field.runtime.block_on(question()) {
            Err(_) if Instant::now() < deadline && !field.end.has_rung() => field.end.wait(PAUSE),
            answer => return answer,
        }
    }
}

/// Deletes the queues without contenders, as the servers do with containers, but far more often.
pub(super) fn reap(field: &Field, fault: &Fault) -> Outcome {
    field.noted(fault, "", || {
        let queues = field.workloads.iter().flat_map(|workload| workload.queues());
        let paths: Vec<_> = queues.map(|(_, queue)| format!("{NAMESPACE}{queue}")).collect();
        let deletions = field.runtime.block_on(field.outsider.reap(&paths, fault.lasts));
        field.chronicle.say(&format!("{deletions} empty queues were deleted"));
        Ok(())
    })
}

/// The time within which a server answers again.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two questions.
const PAUSE: Duration = Duration::from_millis(100);
