use std::pin::Pin;

use zklock::{LockError, distributed_lock, leader_only};

struct Receipt;
struct SettleError;

trait Stream {
    type Item;
}

impl Stream for () {
    type Item = u8;
}

trait Call {
    type Future;

    fn call(&self) -> Self::Future;
}

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

mod returns_nothing {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    async fn settle() {}
}

#[distributed_lock(path = "/orders")]
async fn returns_a_boxed_future() -> Result<Pin<Box<dyn Future<Output = u64>>>, LockError> {
    Ok(Box::pin(async { 7 }))
}

#[distributed_lock(path = "/orders")]
async fn returns_a_boxed_stream() -> Result<Option<Box<dyn Stream<Item = u8>>>, LockError> {
    Ok(None)
}

#[distributed_lock(path = "/orders")]
async fn returns_a_handle() -> Result<tokio::task::JoinHandle<()>, LockError> {
    Ok(tokio::spawn(async {}))
}

#[distributed_lock(path = "/orders")]
async fn returns_a_set_of_tasks() -> Result<tokio::task::JoinSet<u64>, LockError> {
    Ok(JoinSet::new())
}

#[distributed_lock(path = "/orders")]
async fn returns_a_set_of_futures() -> Result<FuturesUnordered<Ready<u64>>, LockError> {
    Ok(FuturesUnordered::new())
}

#[distributed_lock(path = "/orders")]
async fn returns_a_string() -> String {
    String::new()
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

#[leader_only]
async fn leader_returns_a_handle() -> Option<tokio::task::JoinHandle<()>> {
    None
}

fn main() {}
