//! The messages on the standard error, which a thread of their own writes.
//!
//! A reader of the standard error may stall. This delays no other thread: messages are left out as long as the queue is
//! full.

use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

/// The queue of messages. Dropping it waits until they are written, for a short time.
#[derive(Debug)]
pub(super) struct Messages {
    /// `None` once no message may follow.
    queue: Option<Arc<SyncSender<Vec<u8>>>>,
    /// Its sender is dropped when all messages are written.
    written: Receiver<Infallible>,
}

/// A writer of the log, which never blocks.
#[derive(Clone, Debug)]
pub(crate) struct Writer(Weak<SyncSender<Vec<u8>>>);

impl Messages {
    /// Starts the thread. Without it, there are no messages.
    pub(super) fn start() -> Self {
        let (queue, messages) = sync_channel(LONGEST);
        let (writes, written) = sync_channel(0);
        let write = move || {
            write(&messages);
            drop(writes);
        };
        thread::Builder::new().name("zklock-messages".into()).spawn(write).ok();
        Self { queue: Some(Arc::new(queue)), written }
    }

    /// Adds a text, unless the queue is full.
    pub(super) fn add(&self, text: String) {
        if let Some(queue) = &self.queue {
            queue.try_send(text.into_bytes()).ok();
        }
    }

    pub(super) fn writer(&self) -> Writer {
        Writer(self.queue.as_ref().map(Arc::downgrade).unwrap_or_default())
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        self.queue = None;
        self.written.recv_timeout(LAST).ok();
    }
}

impl Write for Writer {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if let Some(queue) = self.0.upgrade() {
            queue.try_send(text.to_owned()).ok();
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the messages until the last one. One that cannot be written is left out.
fn write(messages: &Receiver<Vec<u8>>) {
    // The terminal may be set to stop a job in the background that writes. The lock would end with the stop.
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGTTOU);
    blocked.thread_block().ok();
    for text in messages {
        io::stderr().write_all(&text).ok();
    }
}

/// The longest queue.
const LONGEST: usize = 1_000;
/// The longest wait for the last messages.
const LAST: Duration = Duration::from_secs(1);
