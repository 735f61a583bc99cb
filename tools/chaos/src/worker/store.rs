//! The reads and writes of resources.

use crate::history::{Outcome, Way};
use zklock::{FencingToken, LockError};

use crate::clock;
use crate::service;

use super::task::Calls;
use super::writing::{Read, Writing, read};

/// Reads the only cell of a file.
pub(super) fn read_file(calls: &Calls, member: usize, resource: &str) {
    let began = clock::now();
    let value = calls.places().cells(resource).and_then(|cells| cells.read(0));
    read(calls, member, resource, began, Read::of(vec![value.expect("the file has a whole value")]));
}

/// Writes the only cell of a file.
pub(super) fn write_file(calls: &Calls, member: usize, resource: &str) {
    let writing = Writing::begin(calls, member, resource, Way::Plain);
    let written = calls.places().cells(resource).and_then(|cells| cells.write(0, writing.value()));
    let outcome = if written.is_ok() { Outcome::Applied } else { Outcome::Unknown };
    writing.ends(outcome, None);
}

/// Reads a register of the service.
pub(super) async fn read_service(calls: &Calls, resource: &str) {
    let began = clock::now();
    let answer = service::ask(calls.places().service, &format!("read {resource}")).await.unwrap_or_default();
    let numbers: Vec<u64> = answer.split(' ').map_while(|number| number.parse().ok()).collect();
    let answer = match numbers[..] {
        [value, writes] => Read { cells: vec![value], position: Some(writes) },
        _ => Read::of(Vec::new()),
    };
    read(calls, 0, resource, began, answer);
}

/// Writes a register of the service with the token of the hold.
pub(super) async fn write_service(calls: &Calls, resource: &str, token: FencingToken) {
    let writing = Writing::begin(calls, 0, resource, Way::Fenced).with(token);
    let (zxid, handoff, value) = (token.zxid(), token.handoff(), writing.value());
    let request = format!("write {resource} {zxid} {handoff} {value}");
    let answer = service::ask(calls.places().service, &request).await.unwrap_or_default();
    match answer.split_once(' ') {
        Some(("applied", number)) => writing.ends(Outcome::Applied, number.parse().ok()),
        None if answer == "refused" => writing.ends(Outcome::Refused, None),
        _ => writing.ends(Outcome::Unknown, None),
    }
}

/// Reads a node of ZooKeeper as of a moment at which the lock is held.
pub(super) async fn read_node(calls: &Calls, resource: &str) {
    let began = clock::now();
    let Some(lock) = zklock::current() else { return };
    let value = match lock.get(&node(resource)).await {
        Ok(Some(data)) => String::from_utf8_lossy(&data).parse().ok(),
        Ok(None) => Some(0),
        Err(_) => None,
    };
    read(calls, 0, resource, began, Read::of(value.into_iter().collect()));
}

/// Writes a node of ZooKeeper through the lock that is held.
pub(super) async fn write_node(calls: &Calls, resource: &str) {
    let Some(lock) = zklock::current() else { return };
    let writing = Writing::begin(calls, 0, resource, Way::Guarded).with(lock.fencing_token());
    let outcome = match lock.upsert(&node(resource), writing.value().to_string()).await {
        Ok(()) => Outcome::Applied,
        Err(LockError::Lost { .. } | LockError::Refused { .. } | LockError::Denied { .. }) => {
            Outcome::Refused
        }
        Err(_) => Outcome::Unknown,
    };
    writing.ends(outcome, None);
}

fn node(resource: &str) -> String {
    format!("/data/{resource}")
}
