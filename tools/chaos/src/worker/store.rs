//! The reads and writes of resources, and the records of them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use zklock::{FencingToken, LockError};

use crate::history::{Event, Outcome, Token, Way};
use crate::journal::now;
use crate::service;

use super::task::{Calls, Noted, portable};

/// Opens a shared file, which need not exist.
fn file(calls: &Calls, resource: &str) -> io::Result<File> {
    let path = calls.ways.orders.directory.join(resource);
    OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)
}

/// Reads the value of a shared file by one system call. It is zero before the first write.
fn value(file: &File) -> io::Result<u64> {
    let mut text = [0; LENGTH];
    match file.read_at(&mut text, 0)? {
        0 => Ok(0),
        length => {
            let text = String::from_utf8_lossy(&text[..length]);
            text.trim().parse().map_err(|_| io::Error::other(format!("the file has `{text}`")))
        }
    }
}

/// The length of a value in a file.
const LENGTH: usize = 20;

/// Reads a file.
pub(super) fn read_file(calls: &Calls, member: usize, resource: &str) {
    let began = now();
    let value = file(calls, resource).and_then(|file| value(&file));
    read(calls, member, resource, began, Some(value.expect("the file has a whole value")));
}

/// Writes a file by one system call.
pub(super) fn write_file(calls: &Calls, member: usize, resource: &str) {
    let (writing, value) = begin(calls, member, resource, (Way::Plain, None));
    let text = format!("{value:19}\n");
    let written = file(calls, resource).and_then(|file| file.write_all_at(text.as_bytes(), 0));
    let outcome = if written.is_ok() { Outcome::Applied } else { Outcome::Unknown };
    writing.ends(outcome);
}

/// Reads a register of the service.
pub(super) async fn read_service(calls: &Calls, resource: &str) {
    let began = now();
    let answer =
        service::ask(calls.ways.orders.service, &format!("read {resource}")).await.unwrap_or_default();
    read(calls, 0, resource, began, answer.parse().ok());
}

/// Writes a register of the service with the token of the hold.
pub(super) async fn write_service(calls: &Calls, resource: &str, token: FencingToken) {
    let (writing, value) = begin(calls, 0, resource, (Way::Fenced, Some(portable(token))));
    let (zxid, handoff) = (token.zxid(), token.handoff());
    let request = format!("write {resource} {zxid} {handoff} {value}");
    let answer = service::ask(calls.ways.orders.service, &request).await.unwrap_or_default();
    writing.ends(match &*answer {
        "applied" => Outcome::Applied,
        "refused" => Outcome::Refused,
        _ => Outcome::Unknown,
    });
}

/// Reads a node of ZooKeeper as of a moment at which the lock is held.
pub(super) async fn read_node(calls: &Calls, resource: &str) {
    let began = now();
    let Some(lock) = zklock::current() else { return };
    let value = match lock.get(&node(resource)).await {
        Ok(Some(data)) => String::from_utf8_lossy(&data).parse().ok(),
        Ok(None) => Some(0),
        Err(_) => None,
    };
    read(calls, 0, resource, began, value);
}

/// Writes a node of ZooKeeper through the lock that is held.
pub(super) async fn write_node(calls: &Calls, resource: &str) {
    let Some(lock) = zklock::current() else { return };
    let token = portable(lock.fencing_token());
    let (writing, value) = begin(calls, 0, resource, (Way::Guarded, Some(token)));
    let outcome = match lock.upsert(&node(resource), value.to_string()).await {
        Ok(()) => Outcome::Applied,
        Err(LockError::Lost { .. } | LockError::Refused { .. } | LockError::Denied { .. }) => {
            Outcome::Refused
        }
        Err(_) => Outcome::Unknown,
    };
    writing.ends(outcome);
}

fn node(resource: &str) -> String {
    format!("/data/{resource}")
}

/// Begins a write of a member's value, which is returned. Its outcome is unknown until it [ends](Noted::ends).
fn begin<'a>(
    calls: &'a Calls,
    member: usize,
    resource: &str,
    (way, token): (Way, Option<Token>),
) -> (Noted<'a>, u64) {
    let (resource, value) = (resource.to_owned(), calls.value(member));
    let event = Event::Wrote { resource, way, began: now(), value, token, outcome: Outcome::Unknown };
    (Noted { calls, member, event }, value)
}

impl Noted<'_> {
    /// Notes the outcome of a write.
    fn ends(mut self, with: Outcome) {
        if let Event::Wrote { outcome, .. } = &mut self.event {
            *outcome = with;
        }
    }
}

/// Notes a read that began at this time, with its value unless that is unknown.
pub(super) fn read(calls: &Calls, member: usize, resource: &str, began: u64, value: Option<u64>) {
    calls.note_of(member, Event::Read { resource: resource.to_owned(), began, value });
}
