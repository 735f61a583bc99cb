//! The reads and writes of resources, and the records of them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use zklock::{FencingToken, LockError};

use crate::history::{Event, Outcome, Token, Way};
use crate::journal::now;
use crate::service;

use super::task::{Calls, portable};

/// Opens a shared file, which need not exist.
fn file(calls: &Calls, resource: &str) -> io::Result<File> {
    let path = calls.ways.directory.join(resource);
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
    let writing = Writing::begin(calls, member, resource, Way::Plain);
    let text = format!("{:19}\n", writing.value());
    let written = file(calls, resource).and_then(|file| file.write_all_at(text.as_bytes(), 0));
    let outcome = if written.is_ok() { Outcome::Applied } else { Outcome::Unknown };
    writing.ends(outcome);
}

/// Reads a register of the service.
pub(super) async fn read_service(calls: &Calls, resource: &str) {
    let began = now();
    let answer = service::ask(calls.ways.service, &format!("read {resource}")).await.unwrap_or_default();
    read(calls, 0, resource, began, answer.parse().ok());
}

/// Writes a register of the service with the token of the hold.
pub(super) async fn write_service(calls: &Calls, resource: &str, token: FencingToken) {
    let writing = Writing::begin(calls, 0, resource, Way::Fenced).with(token);
    let (zxid, handoff, value) = (token.zxid(), token.handoff(), writing.value());
    let request = format!("write {resource} {zxid} {handoff} {value}");
    let answer = service::ask(calls.ways.service, &request).await.unwrap_or_default();
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
    let writing = Writing::begin(calls, 0, resource, Way::Guarded).with(lock.fencing_token());
    let outcome = match lock.upsert(&node(resource), writing.value().to_string()).await {
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

/// A write under way, whose outcome is unknown if this value is dropped.
pub(super) struct Writing<'a> {
    calls: &'a Calls,
    member: usize,
    resource: String,
    way: Way,
    token: Option<Token>,
    began: u64,
    is_noted: bool,
}

impl<'a> Writing<'a> {
    /// Begins a write of a member's value.
    pub(super) fn begin(calls: &'a Calls, member: usize, resource: &str, way: Way) -> Self {
        let resource = resource.to_owned();
        Self { calls, member, resource, way, token: None, began: now(), is_noted: false }
    }

    /// Names the token that the write passes to the resource.
    pub(super) fn with(mut self, token: FencingToken) -> Self {
        self.token = Some(portable(token));
        self
    }

    pub(super) fn value(&self) -> u64 {
        self.calls.value(self.member)
    }

    /// Notes the outcome.
    pub(super) fn ends(mut self, outcome: Outcome) {
        self.note(outcome);
    }

    fn note(&mut self, outcome: Outcome) {
        self.is_noted = true;
        let (value, resource) = (self.value(), self.resource.clone());
        let (way, began, token) = (self.way, self.began, self.token);
        let event = Event::Wrote { resource, way, began, value, token, outcome };
        self.calls.note_of(self.member, event);
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if !self.is_noted {
            self.note(Outcome::Unknown);
        }
    }
}

/// Notes a read that began at this time, with its value unless that is unknown.
pub(super) fn read(calls: &Calls, member: usize, resource: &str, began: u64, value: Option<u64>) {
    calls.note_of(member, Event::Read { resource: resource.to_owned(), began, value });
}
