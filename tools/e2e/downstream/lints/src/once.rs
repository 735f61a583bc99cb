//! Functions that start at most once per period.

use core::time::Duration;

use tokio::task::yield_now;
use zklock::{LockError, distributed_lock, leader_only};

/// A job.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Job;

impl Job {
    /// # Errors
    #[distributed_lock(path = "/jobs/{id}", once_per = "1h", mode = write)]
    pub async fn run(self, id: u64) -> Result<(), LockError> {
        yield_now().await;
        Ok(())
    }

    /// Starts once per period on the leader.
    #[leader_only(once_per = "1h")]
    pub fn sweep(&mut self) {
        *self = Self;
    }
}

/// # Errors
#[distributed_lock(path = "/invoices", once_per = "15m", guard = held)]
pub async fn invoices() -> Result<(), LockError> {
    held.verify().await
}

/// # Errors
#[distributed_lock(path = "/invoices/{region}", once_per = every, tick = "/ticks/{region}")]
pub async fn regional(region: &str, every: Duration) -> Result<Option<u8>, LockError> {
    yield_now().await;
    Ok(Some(7))
}

/// # Errors
#[leader_only(once_per = "1h", tick = "/ticks/{name}", otherwise = error)]
pub async fn swept(name: String) -> Result<(), LockError> {
    yield_now().await;
    Ok(())
}
