//! Free functions under a lock.

use core::error::Error;
use core::time::Duration;
use std::io;
use std::sync::{Mutex, PoisonError};

use tokio::task::yield_now;
use zklock::{Client, LockError, distributed_lock};

/// Generates a function.
macro_rules! locked {
    ($name:ident, $path:literal, $arg:ident: $ty:ty, $guard:ident => $body:block) => {
        /// # Errors
        #[distributed_lock(path = $path, guard = $guard, wait = "1s")]
        pub async fn $name($arg: $ty) -> Result<$ty, LockError> $body
    };
}

/// A part of paths.
const KIND: &str = "kind";

/// An order of a shop.
#[derive(Debug)]
pub struct Order<'shop> {
    /// The number of the order.
    pub id: u64,
    /// The name of the shop.
    pub shop: &'shop str,
}

/// An error with its own conversion.
#[derive(Debug)]
pub struct SettleError(pub LockError);

impl From<LockError> for SettleError {
    fn from(error: LockError) -> Self {
        Self(error)
    }
}

/// # Errors
#[distributed_lock(path = "/jobs")]
pub async fn plain() -> Result<(), LockError> {
    yield_now().await;
    Ok(())
}

/// # Errors
#[distributed_lock(path = "/jobs")]
pub async fn without_an_await() -> Result<u64, LockError> {
    Ok(7)
}

/// # Errors
#[distributed_lock(path = "/orders/{order.shop}/{order.id}", wait = "5s", guard = held)]
pub async fn borrowed<'shop>(order: &'shop Order<'shop>) -> Result<&'shop str, SettleError> {
    held.verify().await?;
    yield_now().await;
    Ok(order.shop)
}

/// # Errors
#[distributed_lock(path = "/orders/{shop}/{id}")]
pub async fn named(shop: &str, id: u64) -> Result<(), LockError> {
    yield_now().await;
    Ok(())
}

/// # Errors
#[distributed_lock(path = "/orders/{shop}/{id}", wait = Duration::from_secs(id), client = client)]
pub async fn patterns(
    Order { shop, id }: Order<'_>,
    (mut total, _): (u64, u8),
    [first, .., last]: [u64; 3],
    client: &Client,
) -> io::Result<u64> {
    total = total.max(first).max(last).max(id);
    yield_now().await;
    if shop.is_empty() {
        return Err(io::Error::other("no shop"));
    }
    Ok(total)
}

/// # Errors
#[distributed_lock(path = "/numbers/{text.len()}", client = "reporting")]
pub async fn generic<Keep, const COUNT: usize>(
    text: &str,
    keep: Keep,
    numbers: [u8; COUNT],
) -> Result<impl Iterator<Item = u8> + use<Keep, COUNT>, Box<dyn Error + Send + Sync>>
where
    Keep: Fn(u8) -> bool + Send,
{
    let number: u8 = text.parse()?;
    yield_now().await;
    if !keep(number) {
        return Err("not kept".into());
    }
    Ok(numbers.into_iter())
}

/// # Errors
#[distributed_lock(path = "/prices/{region}", mode = read, guard = held)]
pub async fn quote(region: &str) -> Result<usize, LockError> {
    held.verify().await?;
    Ok(region.len())
}

/// # Errors
#[distributed_lock(path = format!("/prices/{region}"), mode = write, on_lost = finish)]
pub async fn update(region: &str, price: u64) -> Result<u64, LockError> {
    yield_now().await;
    Ok(price)
}

/// # Errors
#[distributed_lock(path = ["/accounts/{from}", "/accounts/{to}"], wait = "10s", guard = held, on_lost = cancel)]
pub async fn transfer(from: u64, to: u64) -> Result<(), LockError> {
    held.verify().await?;
    Ok(())
}

/// # Errors
#[distributed_lock(path = "/{FLOOR}/{shelf}/{KIND}")]
pub async fn items<const FLOOR: usize>(shelf: u64) -> Result<(), LockError> {
    yield_now().await;
    Ok(())
}

locked!(generated, "/generated/{number}", number: u64, held => {
    held.verify().await?;
    Ok(number)
});

/// # Errors
#[distributed_lock(path = "/last/{shelf}")]
pub async fn last_expression(shelf: u64, names: Mutex<Vec<String>>) -> Result<usize, LockError> {
    yield_now().await;
    Ok(names.lock().unwrap_or_else(PoisonError::into_inner).len())
}
