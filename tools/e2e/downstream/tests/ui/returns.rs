use std::pin::Pin;
use std::thread::JoinHandle;

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

mod returns_option {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    async fn settle() -> Option<u64> {
        None
    }
}

mod returns_u8 {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    async fn settle() -> u8 {
        7
    }
}

#[distributed_lock(path = "/orders")]
async fn returns_a_boxed_future() -> Result<Pin<Box<dyn Future<Output = u64>>>, LockError> {
    Ok(Box::pin(async { 7 }))
}

#[distributed_lock(path = "/orders")]
fn returns_a_boxed_future_not_async() -> Box<dyn Future<Output = Result<(), LockError>> + Unpin> {
    Box::new(std::future::ready(Ok(())))
}

#[distributed_lock(path = "/orders")]
async fn returns_a_boxed_stream() -> Result<Option<Box<dyn Stream<Item = u8>>>, LockError> {
    Ok(None)
}

#[distributed_lock(path = "/orders")]
async fn returns_a_future_in_ok() -> Result<impl Future<Output = u64>, LockError> {
    Ok(async { 7 })
}

#[distributed_lock(path = "/orders")]
fn returns_a_future_in_ok_not_async() -> Result<impl Future<Output = u64>, LockError> {
    Ok(async { 7 })
}

#[distributed_lock(path = "/orders")]
async fn returns_a_handle() -> Result<tokio::task::JoinHandle<()>, LockError> {
    Ok(tokio::spawn(async {}))
}

#[distributed_lock(path = "/orders")]
fn returns_a_handle_in_a_tuple() -> Result<(u8, Vec<JoinHandle<()>>), LockError> {
    Ok((7, Vec::new()))
}

#[distributed_lock(path = "/orders")]
async fn returns_a_handle_that_aborts() -> Result<Option<tokio::task::AbortHandle>, LockError> {
    Ok(None)
}

#[leader_only]
async fn returns_a_handle_that_aborts_when_it_is_dropped() -> Option<AbortOnDropHandle<()>> {
    None
}

#[distributed_lock(path = "/orders")]
async fn returns_a_set_of_tasks() -> Result<tokio::task::JoinSet<u64>, LockError> {
    Ok(JoinSet::new())
}

#[distributed_lock(path = "/orders")]
fn returns_a_set_of_tasks_in_a_tuple() -> Result<(u8, Vec<TaskTracker>), LockError> {
    Ok((7, Vec::new()))
}

#[distributed_lock(path = "/orders")]
async fn returns_a_set_of_futures() -> Result<FuturesUnordered<Ready<u64>>, LockError> {
    Ok(FuturesUnordered::new())
}

#[leader_only(otherwise = error)]
async fn returns_a_set_of_futures_in_an_array() -> Result<[FuturesOrdered<Ready<u64>>; 1], LockError> {
    Ok([FuturesOrdered::new()])
}

#[distributed_lock(path = "/orders")]
async fn returns_a_stream() -> Result<impl Stream<Item = u8>, LockError> {
    Ok(())
}

mod returns_an_associated_future {
    use zklock::distributed_lock;

    struct Shop;

    impl super::Call for Shop {
        type Future = std::future::Ready<()>;

        #[distributed_lock(path = "/orders")]
        fn call(&self) -> Self::Future {
            std::future::ready(())
        }
    }
}

#[distributed_lock(path = "/orders")]
async fn returns_a_reference() -> &'static str {
    "seven"
}

#[distributed_lock(path = "/orders")]
async fn returns_a_standard_option() -> std::option::Option<u64> {
    None
}

#[distributed_lock(path = "/orders")]
async fn returns_a_string() -> String {
    String::new()
}

#[distributed_lock(path = "/orders")]
async fn returns_a_tuple() -> (u64, LockError) {
    unreachable!()
}

#[distributed_lock(path = "/orders")]
async fn returns_an_error_that_is_text() -> Result<(), &'static str> {
    Ok(())
}

#[distributed_lock(path = "/orders")]
async fn returns_never() -> ! {
    panic!()
}

#[distributed_lock(path = "/orders")]
async fn returns_unit() -> () {
    drop(7)
}

fn main() {}
