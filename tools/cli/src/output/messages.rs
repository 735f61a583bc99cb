//! The messages on the standard error, which a thread of their own writes.
//!
//! A reader of the standard error may stall. This delays no other thread: messages are left out as long as the queue is
//! full.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};

/// The queue of messages. Dropping it waits until they are written, for a short time.
#[derive(Debug)]
pub(super) struct Messages(SyncSender<Message>);

/// A writer of the log, which never blocks.
#[derive(Clone, Debug)]
pub(crate) struct Writer(SyncSender<Message>);

#[derive(Debug)]
enum Message {
    Text(Vec<u8>),
    /// The last message. Its sender is dropped when all others are written.
    End(SyncSender<()>),
}

impl Messages {
    /// Starts the thread. Without it, there are no messages.
    pub(super) fn start() -> Self {
        let (sender, receiver) = sync_channel(LONGEST);
        thread::Builder::new().name("zklock-messages".into()).spawn(move || write(&receiver)).ok();
        Self(sender)
    }

    /// Adds a text, unless the queue is full.
    pub(super) fn add(&self, text: String) {
        self.0.try_send(Message::Text(text.into_bytes())).ok();
    }

    pub(super) fn writer(&self) -> Writer {
        Writer(self.0.clone())
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        let deadline = Instant::now() + LAST;
        let (written, is_written) = sync_channel(0);
        let mut end = Message::End(written);
        while let Err(TrySendError::Full(back)) = self.0.try_send(end) {
            if Instant::now() >= deadline {
                return;
            }
            thread::sleep(PAUSE);
            end = back;
        }
        is_written.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
    }
}

impl Write for Writer {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.try_send(Message::Text(text.to_owned())).ok();
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the messages until the last one. One that cannot be written is left out.
fn write(messages: &Receiver<Message>) {
    // The terminal may be set to stop a job in the background that writes. The lock would end with the stop.
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGTTOU);
    blocked.thread_block().ok();
    while let Ok(message) = messages.recv() {
        match message {
            Message::Text(text) => drop(io::stderr().write_all(&text)),
            Message::End(written) => return drop(written),
        }
    }
}

/// The longest queue.
const LONGEST: usize = 1_000;
/// The longest wait for the last messages.
const LAST: Duration = Duration::from_secs(1);
/// The time between two looks at a full queue.
const PAUSE: Duration = Duration::from_millis(10);
