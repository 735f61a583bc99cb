//! A service that settles orders, one replica at a time.

pub mod accepted;

use std::future::Future;
use std::time::Duration;

use zklock::{LockError, distributed_lock};

/// The reason why an order was not settled.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// Another replica settles it, or the lock was lost.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// A bank that takes payments.
pub trait Bank {
    /// Moves the money of an order.
    fn pay(&self, order: u64) -> impl Future<Output = ()>;
}

/// Settles an order.
#[distributed_lock(path = "/orders/{id}", wait = "20s")]
pub async fn settle(id: u64, bank: &impl Bank) -> Result<(), SettleError> {
    bank.pay(id).await;
    Ok(())
}

/// Settles an order, if its lock is free soon.
#[distributed_lock(path = "/orders/{id}", wait = "1s")]
pub async fn settle_soon(id: u64, bank: &impl Bank) -> Result<(), SettleError> {
    bank.pay(id).await;
    Ok(())
}

/// Settles an order, however long another replica holds its lock.
#[distributed_lock(path = "/orders/{id}", wait = forever)]
pub async fn settle_in_turn(id: u64, bank: &impl Bank) -> Result<(), SettleError> {
    bank.pay(id).await;
    Ok(())
}

/// A bank that takes this long to pay.
#[derive(Clone, Copy, Debug)]
pub struct SlowBank(pub Duration);

impl Bank for SlowBank {
    async fn pay(&self, _order: u64) {
        tokio::time::sleep(self.0).await;
    }
}
