//! One contender, which repeats operations.

use std::time::{Duration, Instant};

use crate::herd::Node;
use crate::program::Failure;
use crate::section::Section;

/// A contender, its session and its lock.
pub(crate) enum Contender {
    Raw(zookeeper_client::Client, Node, String),
    Zklock(zklock::Client, zklock::Mutex),
}

/// The wait of one operation.
pub(crate) struct Wait {
    pub(crate) length: Duration,
    pub(crate) until: Instant,
}

impl Contender {
    /// Takes and releases the lock until the end, and returns itself and the waits.
    pub(crate) async fn repeat(self, section: &Section) -> Result<(Self, Vec<Wait>), Failure> {
        let mut waits = Vec::new();
        while !section.has_ended() {
            waits.push(self.operate(section).await?);
        }
        Ok((self, waits))
    }

    async fn operate(&self, section: &Section) -> Result<Wait, Failure> {
        let start = Instant::now();
        match self {
            Self::Raw(client, node, lock) => {
                let held = node.acquire(client, lock).await?;
                let wait = Wait::since(start);
                section.enter().await;
                held.release(client).await?;
                Ok(wait)
            }
            Self::Zklock(_, mutex) => {
                let guard = mutex.lock().await?;
                let wait = Wait::since(start);
                section.enter().await;
                guard.release().await?;
                Ok(wait)
            }
        }
    }

    pub(crate) async fn close(self) {
        match self {
            // The session ends when its last client is dropped.
            Self::Raw(..) => {}
            Self::Zklock(client, _) => client.shutdown(GRACE).await,
        }
    }
}

impl Wait {
    fn since(start: Instant) -> Self {
        let until = Instant::now();
        Self { length: until - start, until }
    }
}

/// The time that a client may take to shut down.
const GRACE: Duration = Duration::from_secs(5);
