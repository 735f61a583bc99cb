//! The attribute on the methods of an `#[async_trait]`.

#![deny(warnings)]

use async_trait::async_trait;
use zklock::{LockError, distributed_lock, leader_only};

#[async_trait]
trait Ledger: Sync {
    fn name(&self) -> String;

    async fn add(&mut self, entry: &str, more: [u8; 2]) -> Result<usize, LockError>;

    #[distributed_lock(path = "/ledger/{self.name()}", mode = read, guard = held)]
    async fn provided(&self) -> Result<String, LockError> {
        if self.name().is_empty() {
            return Ok(String::new());
        }
        Ok(held.fencing_token().to_string())
    }

    #[leader_only(path = self.name(), guard = term)]
    async fn balance(&self, times: u8) {
        for _ in 0..times {
            assert!(term.is_leading());
        }
    }

    async fn audit(&self) -> Option<String>;

    async fn close(&self, year: u16) -> Result<u16, LockError>;

    async fn open(&self, year: u16) -> Result<u16, LockError>;
}

struct Book<T>(Vec<T>);

#[async_trait]
impl<T: Send + Sync + for<'a> From<&'a str>> Ledger for Book<T> {
    fn name(&self) -> String {
        "book".to_owned()
    }

    #[leader_only(otherwise = Some(self.name()))]
    async fn audit(&self) -> Option<String> {
        unreachable!("no replica leads")
    }

    #[distributed_lock(path = "/years/{year}")]
    #[tracing::instrument(skip(self), ret)]
    async fn close(&self, year: u16) -> Result<u16, LockError> {
        Ok(year)
    }

    #[leader_only(otherwise = Ok(year))]
    #[tracing::instrument(skip(self), err, ret)]
    async fn open(&self, year: u16) -> Result<u16, LockError> {
        Ok(year)
    }

    #[distributed_lock(path = ["/ledger/{entry}/{self.0.len()}", self.name()], mode = write, wait = "5s")]
    async fn add(&mut self, entry: &str, [more, _]: [u8; 2]) -> Result<usize, LockError> {
        self.0.push(Self::entry(entry).await?);
        Ok(self.0.len() + usize::from(more))
    }
}

impl<T: Send + Sync + for<'a> From<&'a str>> Book<T> {
    #[distributed_lock(path = "/entries")]
    async fn entry(text: &str) -> Result<T, LockError> {
        Ok(text.into())
    }
}

fn must_be_send<T: Send>(future: T) -> T {
    future
}

#[tokio::test]
async fn a_method_asks_for_its_lock_before_its_body_runs() {
    let mut book = Book::<String>(Vec::new());
    let added = must_be_send(book.add("seven", [1, 2])).await;
    assert!(matches!(added, Err(LockError::NotInstalled { name: None, .. })), "{added:?}");
    assert!(book.0.is_empty());
    assert!(must_be_send(book.close(2026)).await.is_err());
    assert!(must_be_send(book.open(2026)).await.is_err());
    let provided = must_be_send(book.provided()).await;
    assert!(matches!(provided, Err(LockError::NotInstalled { name: None, .. })), "{provided:?}");
}

#[tokio::test]
async fn a_method_asks_who_leads_before_its_body_runs() {
    let book = Book::<String>(Vec::new());
    must_be_send(book.balance(7)).await;
    assert_eq!(must_be_send(book.audit()).await, None);
}
