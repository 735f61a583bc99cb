//! Frames with an event, as a server sends them.

use zklock_testkit::wire::{ErrorCode, Record, ReplyHeader, Writer, xid};

/// The state in the events of a healthy server.
pub(crate) const CONNECTED: i32 = 3;

/// Returns an event of this type and state as a frame with its length. No server sends some of them.
pub(crate) fn event(kind: i32, state: i32, path: &str) -> Vec<u8> {
    let mut event = Writer::default();
    ReplyHeader { xid: xid::NOTIFICATION, zxid: 0, error: ErrorCode::OK }.write(&mut event);
    event.int(kind);
    event.int(state);
    event.string(path);
    let event = event.finish();
    [&u32::try_from(event.len()).unwrap().to_be_bytes()[..], &event].concat()
}
