use std::pin::Pin;

use zklock::{LockError, leader_only};

trait Stream {
    type Item;
}

impl Stream for () {
    type Item = u8;
}

#[leader_only]
fn leader_returns_a_future() -> Pin<Box<impl Future<Output = ()>>> {
    Box::pin(async move {})
}

#[leader_only]
async fn leader_returns_a_result_of_no_value_to_skip() -> Result<u64, LockError> {
    Ok(7)
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

#[leader_only(otherwise = 0)]
async fn leader_returns_u64() -> u64 {
    7
}

#[leader_only]
async fn leader_returns_a_future_in_some() -> Option<Pin<Box<dyn Future<Output = ()>>>> {
    None
}

#[leader_only]
async fn leader_returns_a_handle() -> Option<tokio::task::JoinHandle<()>> {
    None
}

#[leader_only(otherwise = error)]
async fn leader_returns_a_stream() -> Result<impl Stream<Item = u8>, LockError> {
    Ok(())
}

#[leader_only(otherwise = "follows")]
async fn leader_returns_text() -> &'static str {
    "leads"
}

fn main() {}
