//! Hostile and broken servers: what they send ends a connection or a call, and never a process.
//!
//! [`relay`] passes the frames of an honest server on, until a test turns it against the client. SECURITY.md has the
//! claims that these tests hold.

mod answers;
// They keep a processor busy, which makes other tests late.
#[cfg(soak)]
mod floods;
mod lists;
mod memory;
mod relay;
mod sessions;

use std::time::Duration;

use zklock::{Client, Mutex, MutexGuard};
use zklock_testkit::wire::{ErrorCode, Record, ReplyHeader, Writer, xid};

use self::relay::Relay;
use crate::support::{Space, soon, until};

const PATH: &str = "/vault";
/// A second lock, for calls during an attack.
const OTHER: &str = "/gate";

/// The length of the header of an answer, which has the number of a request, a transaction and an error.
const HEADER: usize = 16;

/// The longest time that a thread of a busy machine stands still.
const STALL: Duration = Duration::from_secs(20);

/// A client behind a relay, which holds a lock.
struct Victim {
    space: Space,
    relay: Relay,
    client: Client,
    guard: MutexGuard,
}

impl Victim {
    async fn new() -> Self {
        let space = Space::new();
        let relay = Relay::start(space.server().address()).await;
        let client = soon(space.config_at(&relay.connect_string()).connect()).await.unwrap();
        let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
        Self { space, relay, client, guard }
    }

    async fn assert_served(self) {
        let Self { client, guard, relay, space } = self;
        drop(guard);
        until_works(&client.mutex(OTHER).unwrap(), "the client takes and releases locks again").await;
        drop((relay, space));
    }
}

async fn until_works(mutex: &Mutex, what: &str) {
    let works = async || match mutex.lock_timeout(Duration::from_secs(5)).await {
        Ok(guard) => guard.release().await.is_ok(),
        Err(_) => false,
    };
    until(works, what).await;
}

const CONNECTED: i32 = 3;

/// Returns an event of this type and state as a frame with its length. No server sends some of them.
fn event(kind: i32, state: i32, path: &str) -> Vec<u8> {
    let mut event = Writer::default();
    ReplyHeader { xid: xid::NOTIFICATION, zxid: 0, error: ErrorCode::OK }.write(&mut event);
    event.int(kind);
    event.int(state);
    event.string(path);
    let event = event.finish();
    [&u32::try_from(event.len()).unwrap().to_be_bytes()[..], &event].concat()
}
