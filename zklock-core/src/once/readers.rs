//! The readers of ticks: the calls of one client that wait for a period to begin share one reader.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use crate::client::worker::Worker;
use crate::error::LockError;
use crate::path::NodePath;
use crate::tick::Period;

use super::attempt;

/// The readers of one client, by their tick and their period.
#[derive(Clone, Debug, Default)]
pub(super) struct Readers(Arc<Mutex<HashMap<Subject, Arc<Reader>>>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Subject {
    tick: NodePath,
    period: Period,
}

/// A task on the client's thread, which reads one tick as long as calls wait for its period.
#[derive(Debug)]
struct Reader {
    /// Becomes `true` when the period has begun.
    begun: watch::Sender<bool>,
    /// Another call waits.
    joined: Notify,
}

impl Readers {
    /// Returns the answer of the reader of this tick, which the first call starts.
    pub(super) fn join(&self, worker: &Arc<Worker>, tick: NodePath, period: Period) -> watch::Receiver<bool> {
        let subject = Subject { tick, period };
        match self.lock().entry(subject.clone()) {
            Entry::Occupied(reader) => {
                reader.get().joined.notify_one();
                reader.get().begun.subscribe()
            }
            Entry::Vacant(vacant) => {
                let (begun, answer) = watch::channel(false);
                let reader = vacant.insert(Arc::new(Reader { begun, joined: Notify::new() })).clone();
                worker.spawn(self.clone().read(worker.clone(), subject, reader));
                answer
            }
        }
    }

    async fn read(self, worker: Arc<Worker>, subject: Subject, reader: Arc<Reader>) {
        let (mut pause, mut next) = (SHORTEST_PAUSE, Instant::now() + SHORTEST_PAUSE);
        let mut known = None;
        let listed = Listed { readers: self.clone(), subject: subject.clone(), reader: reader.clone() };
        loop {
            tokio::select! {
                biased;
                () = worker.closing().cancelled() => break,
                () = reader.begun.closed() => {}
                // A new call has the same pauses as the first one had.
                () = reader.joined.notified() => {
                    pause = SHORTEST_PAUSE;
                    next = next.min(Instant::now() + pause);
                    continue;
                }
                () = sleep_until(next) => {}
            }
            if self.is_left(&subject, &reader) {
                return;
            }
            match has_begun_since(&worker, &subject, &mut known).await {
                Ok(true) => {
                    drop(listed);
                    reader.begun.send_replace(true);
                    return;
                }
                Ok(false) | Err(LockError::Timeout { .. } | LockError::OutcomeUnknown { .. }) => {}
                Err(_) => break,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            next = Instant::now() + pause;
        }
    }

    /// Removes the reader if no call waits any more.
    fn is_left(&self, subject: &Subject, reader: &Reader) -> bool {
        let mut readers = self.lock();
        let is_left = reader.begun.is_closed();
        if is_left {
            readers.remove(subject);
        }
        is_left
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Subject, Arc<Reader>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader that later calls find. It is found no more when its task ends, also by a panic.
struct Listed {
    readers: Readers,
    subject: Subject,
    reader: Arc<Reader>,
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut readers = self.readers.lock();
        if readers.get(&self.subject).is_some_and(|reader| Arc::ptr_eq(reader, &self.reader)) {
            readers.remove(&self.subject);
        }
    }
}

/// Asks whether the period has begun, but only if the last start is not the `known` one.
async fn has_begun_since(
    worker: &Arc<Worker>,
    Subject { tick, period }: &Subject,
    known: &mut Option<Uuid>,
) -> Result<bool, LockError> {
    // Another call of this client may have learned it.
    if worker.memory().is_closed(tick, *period) {
        return Ok(true);
    }
    let about = tick.clone();
    // Reading the last start writes nothing, whereas the question in `has_begun` is a write.
    let look = move |session: Arc<_>| async move { attempt::last_start(&session, &about).await };
    let last = worker.ask(tick, look).await?;
    if last == *known {
        return Ok(false);
    }
    let has_begun = attempt::has_begun(worker, tick, *period).await?;
    *known = last;
    Ok(has_begun)
}

/// The pause before the first look at a tick: most locks are acquired sooner.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause between two looks; each pause is twice the one before.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
