//! The reads and writes of resources, and the records of them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use zklock::{Held, LockError};

use crate::history::{Event, Outcome, Way};
use crate::journal::now;
use crate::service;

use super::task::{Calls, Noted};

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

/// Returns the lock under which the present body runs.
pub(super) fn held() -> Held {
    zklock::current().expect("a body runs under its lock")
}

/// Reads a resource of this kind, and notes the value unless it is unknown.
pub(super) async fn read(calls: &Calls, member: usize, resource: &str, way: Way) {
    let began = now();
    let value = match way {
        Way::Plain => {
            let value = file(calls, resource).and_then(|file| value(&file));
            Some(value.expect("the file has a whole value"))
        }
        Way::Fenced => ask(calls, &format!("read {resource}")).await.parse().ok(),
        // It is the value of a moment at which the lock is held.
        Way::Guarded => match held().get(&node(resource)).await {
            Ok(Some(data)) => String::from_utf8_lossy(&data).parse().ok(),
            Ok(None) => Some(0),
            Err(_) => None,
        },
    };
    calls.note_of(member, Event::Read { resource: resource.to_owned(), began, value });
}

/// Writes a value of this call to a resource of this kind. The outcome is unknown if the body is dropped meanwhile.
pub(super) async fn write(calls: &Calls, member: usize, resource: &str, way: Way) {
    let (value, token, began) = (calls.value(member), held().fencing_token(), now());
    let wrote = |outcome| Event::Wrote { resource: resource.to_owned(), way, began, value, outcome };
    let mut writing = Noted { calls, member, event: wrote(Outcome::Unknown) };
    let outcome = match way {
        Way::Plain => {
            let text = format!("{value:19}\n");
            let written = file(calls, resource).and_then(|file| file.write_all_at(text.as_bytes(), 0));
            if written.is_ok() { Outcome::Applied } else { Outcome::Unknown }
        }
        Way::Fenced => {
            let request = format!("write {resource} {} {} {value}", token.zxid(), token.handoff());
            match &*ask(calls, &request).await {
                "applied" => Outcome::Applied,
                "refused" => Outcome::Refused,
                _ => Outcome::Unknown,
            }
        }
        Way::Guarded => match held().upsert(&node(resource), value.to_string()).await {
            Ok(()) => Outcome::Applied,
            Err(LockError::Lost { .. } | LockError::Refused { .. } | LockError::Denied { .. }) => {
                Outcome::Refused
            }
            Err(_) => Outcome::Unknown,
        },
    };
    writing.event = wrote(outcome);
}

/// Returns the answer of the service, which is empty if there is none.
async fn ask(calls: &Calls, request: &str) -> String {
    service::ask(calls.ways.orders.service, request).await.unwrap_or_default()
}

fn node(resource: &str) -> String {
    format!("/data/{resource}")
}
