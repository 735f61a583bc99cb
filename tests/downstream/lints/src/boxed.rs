//! Methods under `#[async_trait]`.

use async_trait::async_trait;
use tokio::task::yield_now;
use zklock::{LockError, distributed_lock, leader_only};

/// A bank.
#[async_trait]
pub trait Bank: Sync {
    /// Runs on the leader.
    #[leader_only(path = "/banks/{times}")]
    async fn audit(&self, times: u8) {
        yield_now().await;
    }

    /// Pays.
    async fn pay(&self, order: u64, shop: &str) -> Result<usize, LockError>;
}

/// A bank with a name.
#[derive(Debug)]
pub struct House<T>(pub T);

#[async_trait]
impl<T: AsRef<str> + Send + Sync> Bank for House<T> {
    #[distributed_lock(path = "/orders/{order}/{shop}", guard = held)]
    async fn pay(&self, order: u64, shop: &str) -> Result<usize, LockError> {
        held.verify().await?;
        Ok(self.0.as_ref().len())
    }
}
