use std::pin::Pin;

use zklock::{LockError, distributed_lock, leader_only};

struct Receipt;
struct SettleError;

#[distributed_lock(path = "/orders")]
fn returns_a_future() -> impl Future<Output = Result<(), LockError>> {
    async move { Ok(()) }
}

#[distributed_lock(path = "/orders")]
async fn returns_a_type_that_carries_no_error() -> Receipt {
    Receipt
}

#[distributed_lock(path = "/orders")]
async fn returns_an_error_without_from() -> Result<(), SettleError> {
    Ok(())
}

#[distributed_lock(path = "/orders")]
async fn returns_a_boxed_future() -> Result<Pin<Box<dyn Future<Output = u64>>>, LockError> {
    Ok(Box::pin(async { 7 }))
}

#[distributed_lock(path = "/orders")]
async fn returns_a_handle() -> Result<tokio::task::JoinHandle<()>, LockError> {
    Ok(tokio::spawn(async {}))
}

#[leader_only]
fn leader_returns_a_future() -> Pin<Box<impl Future<Output = ()>>> {
    Box::pin(async move {})
}

#[leader_only]
async fn leader_returns_an_error_without_from() -> Result<(), std::fmt::Error> {
    Ok(())
}

#[leader_only]
async fn leader_returns_no_value_to_skip() -> u64 {
    7
}

#[leader_only(otherwise = error)]
async fn leader_returns_nothing_with_error() {}

fn main() {}
