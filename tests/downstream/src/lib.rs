//! A service that settles orders, one replica at a time.

pub mod accepted;

use std::future::Future;
use std::time::Duration;

use zklock::{LockError, distributed_lock};

/// Why an order was not settled.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// Somebody else settles it, or the lock was lost.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is no such order.
    #[error("there is no order {0}")]
    Unknown(u64),
}

/// Where payments go.
pub trait Bank {
    /// Moves the money of an order.
    fn pay(&self, order: u64) -> impl Future<Output = ()>;
}

/// Settles an order.
#[distributed_lock(path = "/orders/{id}", wait = "2s")]
pub async fn settle(id: u64, bank: &impl Bank) -> Result<(), SettleError> {
    if id == 0 {
        return Err(SettleError::Unknown(id));
    }
    bank.pay(id).await;
    Ok(())
}

/// Settles an order, however long somebody else takes to.
#[distributed_lock(path = "/orders/{id}", wait = forever)]
pub async fn settle_in_turn(id: u64, bank: &impl Bank) -> Result<(), SettleError> {
    bank.pay(id).await;
    Ok(())
}

/// Looks at the books of a year, beside others who look.
#[distributed_lock(path = "/books/{year}", mode = read, wait = "2s")]
pub async fn audit(year: u16, look: impl AsyncFnOnce()) -> Result<(), LockError> {
    look().await;
    Ok(())
}

/// A bank whose clerk takes this long.
#[derive(Clone, Copy, Debug)]
pub struct SlowBank(pub Duration);

impl Bank for SlowBank {
    async fn pay(&self, _order: u64) {
        tokio::time::sleep(self.0).await;
    }
}
