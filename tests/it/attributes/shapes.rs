//! The functions that can be annotated, and the errors they may return.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use zklock::{LockError, distributed_lock};

use crate::support::{Space, failed};

struct Ledger<T> {
    name: &'static str,
    entries: Vec<T>,
}

impl<T: Clone + Send + Sync> Ledger<T> {
    #[distributed_lock(path = "/ledger/{self.name}")]
    async fn add(&mut self, entry: T) -> Result<&mut T, LockError> {
        self.entries.push(entry);
        Ok(self.entries.last_mut().expect("it was just added"))
    }

    #[distributed_lock(path = "/ledger/{self.name}")]
    async fn shared(self: Arc<Self>, at: usize) -> Result<T, LockError> {
        Ok(self.entries[at].clone())
    }

    // The form that `#[async_trait]` gives to an `async fn`.
    #[distributed_lock(path = "/ledger/{self.name}", guard = held)]
    fn boxed<'a>(&'a self) -> Pin<Box<dyn Future<Output = Result<usize, LockError>> + Send + 'a>> {
        Box::pin(async move {
            held.verify().await?;
            Ok(self.entries.len())
        })
    }

    #[distributed_lock(path = "/ledger/{self.name}")]
    async fn into_entries(mut self, more: T) -> Result<Vec<T>, LockError> {
        self.entries.push(more);
        Ok(self.entries)
    }
}

#[tokio::test]
async fn methods_have_any_receiver() {
    let client = Space::new().client().await;
    let mut ledger = Ledger { name: "a", entries: vec![1] };
    *zklock::scope(client.clone(), ledger.add(2)).await.unwrap() += 1;
    let ledger = Arc::new(ledger);
    assert_eq!(zklock::scope(client.clone(), ledger.clone().shared(1)).await.unwrap(), 3);
    assert_eq!(zklock::scope(client.clone(), ledger.boxed()).await.unwrap(), 2);
    let ledger = Arc::into_inner(ledger).expect("the call dropped its handle");
    assert_eq!(zklock::scope(client, ledger.into_entries(4)).await.unwrap(), [1, 3, 4]);
}

#[expect(clippy::needless_lifetimes, reason = "the attribute keeps the names of lifetimes")]
#[distributed_lock(path = "/generic/{name}/{N}")]
async fn chained<'a, T: Display, const N: usize>(
    name: &'a str,
    others: [T; N],
    keep: impl Fn(&str) -> bool,
) -> Result<impl Iterator<Item = &'a str>, LockError> {
    let kept = others.iter().filter(|other| keep(&other.to_string())).count();
    Ok(std::iter::repeat_n(name, kept))
}

#[tokio::test]
async fn functions_have_generics_lifetimes_and_opaque_types() {
    let space = Space::new();
    let name = String::from("a");
    let call = chained(&name, [1, 22, 333], |other| other.len() > 1);
    let chained = zklock::scope(space.client().await, call).await.unwrap();
    assert_eq!(chained.collect::<Vec<_>>(), ["a", "a"]);
    assert_eq!(space.children("/generic/a").await, ["3"]);
}

#[derive(Debug, thiserror::Error)]
enum SettleError {
    #[error("no order of this number")]
    NoOrder,
    #[error(transparent)]
    Lock(#[from] LockError),
}

#[distributed_lock(path = "/orders/{id}")]
async fn settle(id: &str) -> Result<(), SettleError> {
    Err(SettleError::NoOrder)
}

#[distributed_lock(path = "/orders/{id}")]
async fn read(id: &str) -> io::Result<u64> {
    id.parse().map_err(io::Error::other)
}

#[distributed_lock(path = "/orders/{id}")]
async fn parse(id: &str) -> Result<u64, Box<dyn Error + Send + Sync>> {
    Ok(id.parse()?)
}

#[tokio::test]
async fn errors_of_the_body_and_of_the_lock_share_the_functions_error_type() {
    let client = Space::new().client().await;
    let calls =
        |id| async move { (failed(settle(id).await), failed(read(id).await), failed(parse(id).await)) };

    let (settled, read, parsed) = zklock::scope(client.clone(), calls("x")).await;
    assert!(matches!(settled, SettleError::NoOrder), "{settled}");
    assert_eq!(read.kind(), io::ErrorKind::Other);
    assert!(parsed.is::<std::num::ParseIntError>(), "{parsed}");

    let (settled, read, parsed) = zklock::scope(client, calls("")).await;
    assert!(matches!(settled, SettleError::Lock(LockError::InvalidPath { .. })), "{settled}");
    assert_eq!(read.kind(), io::ErrorKind::InvalidInput);
    assert!(parsed.is::<LockError>(), "{parsed}");
}

#[test]
fn futures_can_move_between_threads() {
    fn assert_send<T: Send>(_: T) {}
    assert_send(settle("7"));
    assert_send(read("7"));
    assert_send(parse("7"));
    assert_send(chained("a", [1], |_| true));
    assert_send(Ledger { name: "a", entries: vec![1] }.add(2));
    assert_send(Arc::new(Ledger { name: "a", entries: vec![1] }).shared(0));
}

#[distributed_lock(path = "/nested/{depth}")]
async fn nested_once(depth: u8) -> Result<[u8; 512], LockError> {
    let kept = [depth; 512];
    tokio::task::yield_now().await;
    Ok(kept)
}

#[distributed_lock(path = "/nested/{depth}")]
async fn nested_twice(depth: u8) -> Result<[u8; 512], LockError> {
    nested_once(depth + 1).await
}

#[distributed_lock(path = ["/nested/{depth}", "/nested"], mode = read)]
async fn nested_thrice(depth: u8) -> Result<[u8; 512], LockError> {
    nested_twice(depth + 1).await
}

#[test]
fn the_futures_of_nested_calls_do_not_multiply() {
    let (once, twice) = (size_of_val(&nested_once(1)), size_of_val(&nested_twice(1)));
    assert!(once < 8 * 1024 && twice < 8 * 1024, "{once} bytes once, {twice} bytes twice");
    let thrice = size_of_val(&nested_thrice(1));
    assert!(thrice < 8 * 1024, "{thrice} bytes thrice");
}
