//! Methods under `#[async_trait]`.

use core::fmt::Debug;

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

    /// Takes two permits.
    async fn build(&self, most: u32) -> Result<(), LockError>;

    /// Returns the value of a closure, and maps the error.
    async fn count(&self, shop: &str) -> Result<u64, String>;

    /// Takes several locks, and returns a value that is coerced.
    async fn merge(&self, others: Vec<String>) -> Result<Box<dyn Debug + Send>, LockError>;

    /// Pays.
    async fn pay(&self, order: u64, shop: &str) -> Result<usize, LockError>;

    /// Skips.
    async fn tidy(&self, pages: Vec<u64>);
}

/// A bank with a name.
#[derive(Debug)]
pub struct House<T>(pub T);

#[async_trait]
impl<T: AsRef<str> + Send + Sync> Bank for House<T> {
    #[distributed_lock(path = "/builds", permits = 2, of = most)]
    async fn build(&self, most: u32) -> Result<(), LockError> {
        Ok(())
    }

    #[distributed_lock(
        path = "/shops/{shop}",
        otherwise = |error: LockError| Err(format!("{shop}: {error}")),
        map_err = |error: LockError| error.to_string(),
    )]
    async fn count(&self, shop: &str) -> Result<u64, String> {
        Ok(7)
    }

    #[distributed_lock(path = [self.0.as_ref(), ..&others], otherwise = Ok(Box::new(())))]
    async fn merge(&self, others: Vec<String>) -> Result<Box<dyn Debug + Send>, LockError> {
        Ok(Box::new(others))
    }

    #[distributed_lock(path = "/orders/{order}/{shop}", guard = held)]
    async fn pay(&self, order: u64, shop: &str) -> Result<usize, LockError> {
        held.verify().await?;
        Ok(self.0.as_ref().len())
    }

    #[distributed_lock(path = "/pages/{pages.len()}", skip)]
    async fn tidy(&self, pages: Vec<u64>) {
        yield_now().await;
    }
}
